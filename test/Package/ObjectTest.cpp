//===- ObjectTest.cpp - reference functions, inlining, and what code must not call --------------------------------===//
#include "Fixture.h"
#include "llvm/Bitcode/BitcodeWriter.h"

using namespace llvm;
using namespace mopt;
using namespace mopt::test;

namespace {

// A reference function like the real ones: a switch over a type behind a descriptor, with a helper, a recursive and a
// never inlined function.
const char *const referenceText = R"(
define hidden i32 @mopt_ref_thing(ptr %tensor, i64 %n) {
  %tp = getelementptr i8, ptr %tensor, i64 8
  %type = load i32, ptr %tp
  switch i32 %type, label %bad [ i32 1, label %f32
                                 i32 11, label %f64 ]
f32:
  %a = call i32 @helper(ptr %tensor, i64 %n)
  ret i32 %a
f64:
  %b = call i32 @deep(i64 %n)
  ret i32 %b
bad:
  %c = call i32 @cold(i64 %n)
  ret i32 %c
}
define linkonce_odr hidden i32 @helper(ptr %tensor, i64 %n) {
  %t = trunc i64 %n to i32
  %u = add i32 %t, 40
  ret i32 %u
}
define internal i32 @deep(i64 %n) alwaysinline {
  %z = icmp eq i64 %n, 0
  br i1 %z, label %end, label %more
more:
  %m = sub i64 %n, 1
  %r = call i32 @deep(i64 %m)
  %s = mul i32 %r, %r
  ret i32 %s
end:
  ret i32 3
}
define internal i32 @cold(i64 %n) noinline {
  ret i32 4
}
define hidden i32 @mopt_ref_unused(i64 %n) {
  ret i32 77
}
!llvm.ident = !{!0}
!llvm.module.flags = !{!1}
!0 = !{!"some compiler"}
!1 = !{i32 1, !"wchar_size", i32 4}
)";

SmallVector<char, 0> bitcode(StringRef text) {
  LLVMContext context;
  auto module = parse(context, text);
  SmallVector<char, 0> bytes;
  raw_svector_ostream os(bytes);
  WriteBitcodeToFile(*module, os);
  return bytes;
}

struct Result {
  bool ok;
  std::string text, error;
  ObjectStats stats;
};
Result emit(StringRef ir, StringRef cpu, EmitKind kind, StringRef triple = "x86_64-unknown-linux-gnu",
            StringRef reference = "") {
  LLVMContext context;
  auto module = parse(context, ir);
  SmallVector<char, 0> bytes, out;
  ObjectOptions options;
  if (!reference.empty()) {
    bytes = bitcode(reference);
    options.reference = {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
  }
  Result r;
  r.ok = optimizeAndEmit(*module, target(triple, cpu), kind, options, out, &r.stats, r.error);
  r.text.assign(out.begin(), out.end());
  return r;
}

const char *const wrapper = R"(
@mopt_module = constant [2 x ptr] [ptr @wrap, ptr @other]
define internal i32 @wrap(ptr %call) noinline {
  %d = alloca [16 x i8], align 8
  %tp = getelementptr i8, ptr %d, i64 8
  store i32 1, ptr %tp
  %r = call i32 @mopt_ref_thing(ptr %d, i64 2)
  ret i32 %r
}
define internal i32 @other(ptr %call) noinline {
  %d = alloca [16 x i8], align 8
  %tp = getelementptr i8, ptr %d, i64 8
  store i32 11, ptr %tp
  %n = load i64, ptr %call
  %r = call i32 @mopt_ref_thing(ptr %d, i64 %n)
  ret i32 %r
}
declare i32 @mopt_ref_thing(ptr, i64)
)";

TEST(Object, ReferenceFunctionsAreSpecialized) {
  Result r = emit(wrapper, "x86-64-v3", EmitKind::llvmIr, "x86_64-unknown-linux-gnu", referenceText);
  ASSERT_TRUE(r.ok) << r.error;
  EXPECT_NE(r.text.find("ret i32 42"), std::string::npos) << r.text;
  EXPECT_EQ(r.text.find("@mopt_ref"), std::string::npos) << r.text;
  EXPECT_EQ(r.text.find("@cold"), std::string::npos) << r.text;
  EXPECT_EQ(r.text.find("some compiler"), std::string::npos);
  EXPECT_EQ(r.text.find("@memcpy"), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("\"target-cpu\"=\"x86-64-v3\""), std::string::npos);
}

TEST(Object, MissingFunctionIsNamed) {
  Result r = emit(wrapper, "x86-64-v3", EmitKind::object);
  EXPECT_FALSE(r.ok);
  EXPECT_EQ(r.error, "MOPT-P103: internal error: nothing defines mopt_ref_thing");
  EXPECT_TRUE(r.text.empty());
}

TEST(Object, CallsThatCodeGenerationMakesAreNamed) {
  const char *fma = R"(
@mopt_module = constant ptr @f
define float @f(float %a, float %b, float %c) {
  %r = call float @llvm.fma.f32(float %a, float %b, float %c)
  ret float %r
}
declare float @llvm.fma.f32(float, float, float))";
  Result r = emit(fma, "x86-64-v2", EmitKind::object);
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.error.find("MOPT-P105"), std::string::npos) << r.error;
  EXPECT_NE(r.error.find("fmaf"), std::string::npos) << r.error;
  EXPECT_TRUE(emit(fma, "x86-64-v3", EmitKind::object).ok);
  EXPECT_TRUE(emit(fma, "generic", EmitKind::object, "aarch64-unknown-linux-gnu").ok);
  const char *half = R"(
@mopt_module = constant ptr @f
define float @f(half %a) {
  %r = fpext half %a to float
  ret float %r
})";
  EXPECT_NE(emit(half, "x86-64-v2", EmitKind::object).error.find("__extendhfsf2"), std::string::npos);
  EXPECT_TRUE(emit(half, "x86-64-v3", EmitKind::object).ok);
}

TEST(Object, MulAddIsFusedOnlyWhereAsked) {
  const char *text = R"(
@mopt_module = constant [2 x ptr] [ptr @apart, ptr @together]
define float @apart(float %a, float %b, float %c) {
  %m = fmul float %a, %b
  %r = fadd float %m, %c
  ret float %r
}
define float @together(float %a, float %b, float %c) {
  %r = call float @llvm.fmuladd.f32(float %a, float %b, float %c)
  ret float %r
}
declare float @llvm.fmuladd.f32(float, float, float))";
  Result v3 = emit(text, "x86-64-v3", EmitKind::assembly);
  ASSERT_TRUE(v3.ok) << v3.error;
  EXPECT_EQ(StringRef(v3.text).count("vfmadd"), 1u) << v3.text;
  EXPECT_EQ(StringRef(v3.text).count("vmulss"), 1u) << v3.text;
  Result v2 = emit(text, "x86-64-v2", EmitKind::object);
  EXPECT_TRUE(v2.ok) << v2.error;
}

TEST(Object, LargeCopiesStayInside) {
  const char *text = R"(
@mopt_module = constant [4 x ptr] [ptr @copy, ptr @move, ptr @set, ptr @fill]
define void @copy(ptr %a, ptr %b, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)
  ret void
}
define void @move(ptr %a, ptr %b, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)
  ret void
}
define void @set(ptr %a, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %a, i8 7, i64 %n, i1 false)
  ret void
}
define void @fill(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %a, i64 %i
  store i8 0, ptr %p
  %next = add nuw i64 %i, 1
  %last = icmp eq i64 %next, %n
  br i1 %last, label %done, label %loop
done:
  ret void
})";
  for (const char *cpu : {"x86-64-v2", "x86-64-v4"}) {
    Result r = emit(text, cpu, EmitKind::object);
    EXPECT_TRUE(r.ok) << r.error;
  }
  EXPECT_TRUE(emit(text, "generic", EmitKind::object, "aarch64-unknown-linux-gnu").ok);
  Result ir = emit(text, "x86-64-v4", EmitKind::llvmIr);
  size_t fill = ir.text.find("@fill(");
  ASSERT_NE(fill, std::string::npos);
  std::string body = ir.text.substr(fill, ir.text.find("\n}", fill) - fill);
  EXPECT_EQ(body.find("memset"), std::string::npos) << "a loop became a call";
  EXPECT_NE(ir.text.find("<64 x i8>"), std::string::npos) << "the copy is not vectorized";
}

TEST(Object, InvalidIrIsAnError) {
  LLVMContext context;
  auto module = parse(context, wrapper);
  Function *f = module->getFunction("wrap");
  f->getEntryBlock().getTerminator()->eraseFromParent();
  SmallVector<char, 0> out;
  std::string error;
  EXPECT_FALSE(optimizeAndEmit(*module, target("", "native"), EmitKind::object, {}, out, nullptr, error));
  EXPECT_EQ(error.substr(0, 9), "MOPT-P102") << error;
}

TEST(Object, BadBitcodeIsAnError) {
  LLVMContext context;
  auto module = parse(context, wrapper);
  SmallVector<char, 0> out;
  std::string error;
  const uint8_t bytes[16] = {'B', 'C', 0xc0, 0xde, 1, 2, 3};
  ObjectOptions options;
  options.reference = bytes;
  EXPECT_FALSE(optimizeAndEmit(*module, target("", "native"), EmitKind::object, options, out, nullptr, error));
  EXPECT_EQ(error.substr(0, 9), "MOPT-P101") << error;
}

TEST(Object, BuiltInReferenceFunctionsLink) {
  LLVMContext context;
  auto module = parse(context, "@mopt_module = constant i32 0");
  SmallVector<char, 0> out;
  std::string error;
  ObjectOptions options;
  options.reference = referenceBitcode();
  EXPECT_GT(options.reference.size(), 1000u);
  EXPECT_TRUE(
      optimizeAndEmit(*module, target("aarch64-unknown-linux-gnu", ""), EmitKind::object, options, out, nullptr, error))
      << error;
}

} // namespace
