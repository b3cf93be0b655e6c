# Finds the C++ sources of onnx where nobody said where they are: in the site-packages of the Python that builds. That is
# how `pip install .` gets them, whose build environment holds the pinned wheel.
if(NOT MOPT_ONNX_SRC AND MOPT_BUILD_PYTHON)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import importlib.util, pathlib
print(pathlib.Path(importlib.util.find_spec('onnx').origin).parents[1])"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE reason RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "The Python module needs the sources of onnx: set MOPT_ONNX_SRC, or install onnx==1.23.2 for ${Python3_EXECUTABLE}")
  endif()
  set(MOPT_ONNX_SRC ${found} CACHE PATH "" FORCE)
endif()
