# mopt_library(NAME source... [DEPENDS target...] [LINK target...])
# A static library of the compiler: linked to the MLIR and LLVM shared objects (never to their archives: two copies of
# MLIR in one process have two sets of type ids), with the common precompiled header.
add_library(mopt_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_precompile_headers(mopt_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
target_compile_options(mopt_pch PRIVATE -Xclang -fno-pch-timestamp)
target_link_libraries(mopt_pch PUBLIC MLIR LLVM)

function(mopt_common target)
  target_precompile_headers(${target} REUSE_FROM mopt_pch)
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
  target_link_libraries(${target} PUBLIC MLIR LLVM)
  add_dependencies(${target} MoptIncGen)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # As libraries are compiled: the precompiled header is PIC, and PIE code cannot use it.
    target_compile_options(${target} PRIVATE -fPIC)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF BUILD_RPATH "/usr/lib/llvm-22/lib"
                          INSTALL_RPATH "/usr/lib/llvm-22/lib")
  endif()
endfunction()

function(mopt_library name)
  cmake_parse_arguments(A "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  mopt_common(${name})
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${A_LINK})
endfunction()

function(mopt_tool name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  mopt_common(${name})
  target_link_libraries(${name} PRIVATE ${A_LINK})
endfunction()
