//===- Memory.cpp - memcpy, memmove and memset of an artifact -----------------------------------------------------===//
//
// A copy whose size is large or not known becomes a call of memcpy, whatever the optimizer is told. These three are plain
// byte loops, which the vectorizer turns into code as wide as the CPU (about 300 bytes each, only when needed).
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Memory.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace mopt {
namespace {

const char *const names[] = {"memcpy", "memmove", "memset"};

// A block `some` before each loop, so that copying upwards reads the same in memcpy and in memmove. They cannot share code:
// memcpy promises that its arguments do not overlap, and loses speed without the promise.
#define COPY_UP                                                                                                             \
  R"(
loop:
  %i = phi i64 [ 0, %some ], [ %next, %loop ]
  %p = getelementptr i8, ptr %from, i64 %i
  %q = getelementptr i8, ptr %to, i64 %i
  %b = load i8, ptr %p
  store i8 %b, ptr %q
  %next = add nuw i64 %i, 1
  %last = icmp eq i64 %next, %n
  br i1 %last, label %done, label %loop
)"
#define RETURN                                                                                                              \
  R"(
done:
  ret ptr %to
}
)"

const char *const text = R"(
define ptr @memcpy(ptr noalias returned %to, ptr noalias readonly %from, i64 %n) {
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %done, label %some
some:
  br label %loop
)" COPY_UP RETURN R"(
define ptr @memset(ptr returned %to, i32 %value, i64 %n) {
entry:
  %b = trunc i32 %value to i8
  %none = icmp eq i64 %n, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %q = getelementptr i8, ptr %to, i64 %i
  store i8 %b, ptr %q
  %next = add nuw i64 %i, 1
  %last = icmp eq i64 %next, %n
  br i1 %last, label %done, label %loop
)" RETURN R"(
define ptr @memmove(ptr returned %to, ptr readonly %from, i64 %n) {
entry:
  %none = icmp eq i64 %n, 0
  %a = ptrtoint ptr %to to i64
  %c = ptrtoint ptr %from to i64
  %distance = sub i64 %a, %c
  %up = icmp uge i64 %distance, %n
  br i1 %none, label %done, label %some
some:
  br i1 %up, label %loop, label %down
)" COPY_UP R"(
down:
  %j = phi i64 [ %n, %some ], [ %k, %down ]
  %k = sub nuw i64 %j, 1
  %r = getelementptr i8, ptr %from, i64 %k
  %s = getelementptr i8, ptr %to, i64 %k
  %d = load i8, ptr %r
  store i8 %d, ptr %s
  %end = icmp eq i64 %k, 0
  br i1 %end, label %done, label %down
)" RETURN;

} // namespace

bool isMemoryFunction(StringRef name) { return is_contained(names, name); }

bool addMemoryFunctions(Module &module, std::string &error) {
  for (const char *name : names)
    if (GlobalValue *value = module.getNamedValue(name); value && !value->isDeclaration()) {
      error = (Twine("the module defines ") + name).str();
      return false;
    }
  SMDiagnostic diagnostic;
  std::string sized = text; // a size is as wide as a pointer
  if (module.getDataLayout().getPointerSizeInBits() == 32)
    for (size_t at = sized.find("i64"); at != std::string::npos; at = sized.find("i64", at))
      sized.replace(at, 3, "i32");
  std::unique_ptr<Module> memory = parseAssemblyString(sized, diagnostic, module.getContext());
  if (!memory) {
    error = diagnostic.getMessage().str();
    return false;
  }
  memory->setDataLayout(module.getDataLayout());
  memory->setTargetTriple(module.getTargetTriple());
  if (Linker::linkModules(module, std::move(memory))) {
    error = "the memory functions cannot be linked";
    return false;
  }
  // Whatever calls them by name is inlined no more: the definition is for what instruction selection makes.
  SmallVector<GlobalValue *, 3> keep;
  for (const char *name : names) {
    module.getFunction(name)->addFnAttr(Attribute::NoInline);
    keep.push_back(module.getFunction(name));
  }
  appendToCompilerUsed(module, keep);
  return true;
}

void dropUnusedMemoryFunctions(Module &module) {
  bool used[3] = {};
  for (Function &f : module) {
    if (f.isDeclaration())
      continue;
    bool self = isMemoryFunction(f.getName());
    for (Instruction &i : instructions(f)) {
      // Small ones will become loads and stores; which, only the back end knows.
      if (auto *intrinsic = dyn_cast<MemIntrinsic>(&i); intrinsic && !self)
        used[isa<MemSetInst>(intrinsic) ? 2 : isa<MemMoveInst>(intrinsic) ? 1 : 0] = true;
    }
  }
  removeFromUsedLists(module, [](Constant *c) { return isMemoryFunction(c->stripPointerCasts()->getName()); });
  for (auto [index, name] : enumerate(names)) {
    Function *f = module.getFunction(name);
    if (!f)
      continue;
    // Local: the code generator's call by name finds it in the same object.
    f->setLinkage(GlobalValue::InternalLinkage);
    f->setDSOLocal(true);
    f->removeDeadConstantUsers();
    if (!used[index] && f->use_empty())
      f->eraseFromParent();
  }
}

} // namespace mopt
