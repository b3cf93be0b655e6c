//===- Fixture.h - a small model made by hand ---------------------------------------------------------------------===//
//
// y = relu(x * w) with x, y: f32[n], w: f32[4] repeated; then z = sum over n of y in a second step. Symbol n comes from x.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_TEST_PACKAGE_FIXTURE_H
#define MOPT_TEST_PACKAGE_FIXTURE_H

#include "mopt/Package/Package.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

namespace mopt::test {

inline std::unique_ptr<llvm::Module> parse(llvm::LLVMContext &context, llvm::StringRef text) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << " in line " << diagnostic.getLineNo();
  return module;
}

inline TargetSpec target(llvm::StringRef triple, llvm::StringRef cpu) {
  std::string reason;
  auto spec = TargetSpec::resolve(triple, cpu, reason);
  EXPECT_TRUE(spec) << reason;
  return spec.value_or(TargetSpec{});
}

// mopt_call: buffers, symbols, chunk_begin, chunk_end, ...
inline const char *const stepsText = R"(
define internal i32 @scale(ptr %call) "mopt-step" {
entry:
  %buffers = load ptr, ptr %call
  %x = load ptr, ptr %buffers
  %wp = getelementptr ptr, ptr %buffers, i64 1
  %w = load ptr, ptr %wp
  %yp = getelementptr ptr, ptr %buffers, i64 2
  %y = load ptr, ptr %yp
  %sp = getelementptr i8, ptr %call, i64 8
  %symbols = load ptr, ptr %sp
  %n = load i64, ptr %symbols
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %xi = getelementptr inbounds float, ptr %x, i64 %i
  %a = load float, ptr %xi
  %k = and i64 %i, 3
  %wi = getelementptr inbounds float, ptr %w, i64 %k
  %b = load float, ptr %wi
  %m = fmul float %a, %b
  %r = call float @llvm.maximum.f32(float %m, float 0.0)
  %yi = getelementptr inbounds float, ptr %y, i64 %i
  store float %r, ptr %yi
  %next = add nuw nsw i64 %i, 1
  %last = icmp eq i64 %next, %n
  br i1 %last, label %done, label %loop
done:
  ret i32 0
}
define internal i32 @sum(ptr %call) "mopt-step" {
entry:
  %buffers = load ptr, ptr %call
  %y = load ptr, ptr %buffers
  %zp = getelementptr ptr, ptr %buffers, i64 1
  %z = load ptr, ptr %zp
  %sp = getelementptr i8, ptr %call, i64 8
  %symbols = load ptr, ptr %sp
  %n = load i64, ptr %symbols
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %s = phi float [ 0.0, %entry ], [ %t, %body ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %yi = getelementptr inbounds float, ptr %y, i64 %i
  %a = load float, ptr %yi
  %t = fadd float %s, %a
  %next = add nuw nsw i64 %i, 1
  br label %head
done:
  store float %s, ptr %z
  ret i32 0
}
declare float @llvm.maximum.f32(float, float)
)";

/// `weightBytes` at least 16; the first 16 are w.
struct Model {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parse(context, stepsText);
  std::vector<uint8_t> w, far;
  Plan plan;

  explicit Model(uint64_t weightBytes = 64) {
    const float values[4] = {1, -1, 2, 0.5f};
    w.assign(reinterpret_cast<const uint8_t *>(values), reinterpret_cast<const uint8_t *>(values) + 16);
    plan.modelName = "small";
    plan.modelHash = "00ff";
    plan.symbols.push_back({"n", MOPT_SYM_INPUT, {}, -1});
    plan.symbols.push_back({"n2", MOPT_SYM_EXPR, {MOPT_X_SYM, 0, MOPT_X_CONST, 2, MOPT_X_MUL}, -1});
    mopt_size n = MOPT_SIZE_OF_SYMBOL(0);
    plan.checks.push_back({n, n, "node 'a': sizes agree"});
    plan.inputs.push_back({"x", MOPT_F32, {n}, 0});
    plan.outputs.push_back({"y", MOPT_F32, {n}, 2});
    plan.outputs.push_back({"z", MOPT_F32, {}, 3});
    plan.buffers.push_back({MOPT_BUF_INPUT, MOPT_F32, 0, {n}, 0, 0, 0});
    plan.buffers.push_back({MOPT_BUF_WEIGHT, MOPT_F32, 0, {4}, 0, 0, 0});
    plan.buffers.push_back({MOPT_BUF_OUTPUT, MOPT_F32, 0, {n}, 0, 1, 0});
    plan.buffers.push_back({MOPT_BUF_OUTPUT, MOPT_F32, 1, {}, 1, 1, 0});
    plan.steps.push_back({{{"scale"}, {"scale", 1, "again"}}, "mul+relu", {"/a/Mul", "/a/Relu"}, {0, 1, 2}, 1, 0, n, n});
    plan.steps.push_back({{{"sum"}}, "sum", {"/b/ReduceSum"}, {2, 3}, 1, 0, n, n});
    plan.weightBytes = weightBytes;
    plan.weights.push_back({0, w});
    if (weightBytes > 128) { // a second piece across a chunk border, with gaps around it
      far.resize(weightBytes - 128);
      for (size_t i = 0; i < far.size(); ++i)
        far[i] = uint8_t(i * 7 + (i >> 12));
      plan.weights.push_back({64, far});
    }
  }
};

struct Folder {
  std::string path;
  Folder() {
    std::string name = ::testing::TempDir() + "/mopt-package-XXXXXX";
    EXPECT_TRUE(mkdtemp(name.data()));
    path = name;
  }
  ~Folder() { EXPECT_EQ(std::system(("chmod -R u+w " + path + " && rm -rf " + path).c_str()), 0); }
};

inline std::string readAll(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace mopt::test
#endif
