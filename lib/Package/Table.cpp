//===- Table.cpp - mopt_module as constants of an LLVM module -----------------------------------------------------===//
//
// Everything a table refers to lies in a few pools (texts, sizes, operand numbers), where equal entries are stored once.
// A reference is the distance from the field that holds it, computed by the linker: loading needs no relocation.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Package/Package.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"
#include <map>

using namespace llvm;

namespace mopt {
namespace {

/// Where a field points: an offset in a pool, or a function.
struct Target {
  GlobalVariable *pool = nullptr;
  uint64_t offset = 0;
  Function *function = nullptr;
};

/// A constant array of structs of one type, built field by field. The struct types mirror mopt_abi.h member by member.
class Rows {
public:
  /// One letter a member: r mopt_rel, w 32 bits, q 64 bits.
  Rows(Module &module, StringRef layout, size_t count, const char *name) : context(module.getContext()), layout(layout) {
    SmallVector<Type *> members;
    for (char c : layout)
      members.push_back(c == 'q' ? Type::getInt64Ty(context) : Type::getInt32Ty(context));
    row = StructType::get(context, members);
    array = ArrayType::get(row, count);
    global = new GlobalVariable(module, array, true, GlobalValue::PrivateLinkage, nullptr, name);
    global->setAlignment(Align(8));
  }
  void begin() { fields.clear(); }
  void add(uint64_t value) {
    unsigned bits = layout[fields.size()] == 'q' ? 64 : 32;
    fields.push_back(ConstantInt::get(IntegerType::get(context, bits), bits == 32 ? uint32_t(value) : value));
  }
  void add(const Target &target) {
    Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
    if (!target.pool && !target.function) {
      fields.push_back(ConstantInt::get(i32, 0));
      return;
    }
    Constant *index[] = {ConstantInt::get(i32, 0), ConstantInt::get(i32, rows.size()), ConstantInt::get(i32, fields.size())};
    Constant *field = ConstantExpr::getInBoundsGetElementPtr(array, global, ArrayRef<Constant *>(index));
    Constant *to = target.function;
    if (target.pool) // inbounds, or LLVM does not see that no relocation is needed and makes the table writable
      to = ConstantExpr::getInBoundsGetElementPtr(Type::getInt8Ty(context), target.pool,
                                                  ConstantInt::get(i64, target.offset));
    Constant *distance = ConstantExpr::getSub(ConstantExpr::getPtrToInt(to, i64), ConstantExpr::getPtrToInt(field, i64));
    fields.push_back(ConstantExpr::getTrunc(distance, i32));
  }
  void end() { rows.push_back(ConstantStruct::get(row, fields)); }
  GlobalVariable *finish() {
    global->setInitializer(ConstantArray::get(array, rows));
    return global;
  }
  Target here() const { return array->getNumElements() ? Target{global} : Target{}; }

  GlobalVariable *global;

private:
  LLVMContext &context;
  std::string layout;
  StructType *row;
  ArrayType *array;
  SmallVector<Constant *> fields, rows;
};

/// Arrays of T one after the other; equal ones once.
template <typename T> class Pool {
public:
  uint64_t add(ArrayRef<T> values) {
    auto [it, fresh] = at.try_emplace(std::vector<T>(values.begin(), values.end()), bytes.size());
    if (fresh)
      bytes.insert(bytes.end(), values.begin(), values.end());
    return it->second * sizeof(T);
  }
  std::vector<T> bytes;

private:
  std::map<std::vector<T>, uint64_t> at;
};

class Builder {
public:
  Builder(Module &module, const Plan &plan, const TargetSpec &target, StringRef manifest, std::string &error)
      : module(module), plan(plan), target(target), manifest(manifest), error(error) {}
  bool run();

private:
  bool fail(const Twine &text) {
    error = ("MOPT-P110: internal error: " + text).str();
    return false;
  }
  bool check();
  bool checkSteps();
  Target text(StringRef s);
  Target sizes(ArrayRef<mopt_size> values) { return values.empty() ? Target{} : Target{words, wordPool.add(values)}; }
  Target numbers(ArrayRef<int32_t> values) { return values.empty() ? Target{} : Target{operands, operandPool.add(values)}; }
  GlobalVariable *placeholder(const char *name);
  template <typename T> void define(GlobalVariable *&holder, ArrayRef<T> values, unsigned align);
  void ports(Rows &rows, ArrayRef<PlanPort> list);

  Module &module;
  const Plan &plan;
  const TargetSpec &target;
  StringRef manifest;
  std::string &error;
  Pool<char> textPool;
  Pool<int64_t> wordPool;
  Pool<int32_t> operandPool;
  GlobalVariable *texts = nullptr, *words = nullptr, *operands = nullptr;
};

bool Builder::checkSteps() {
  for (auto [i, step] : enumerate(plan.steps)) {
    if (step.variants.empty())
      return fail("step " + Twine(i) + " runs nothing");
    for (const PlanVariant &variant : step.variants) {
      Function *f = module.getFunction(variant.function);
      if (!f || f->isDeclaration())
        return fail("step " + Twine(i) + " runs '" + variant.function + "', which the module does not define");
      if (f->arg_size() != 1 || !f->getArg(0)->getType()->isPointerTy() || !f->getReturnType()->isIntegerTy(32) ||
          f->isVarArg())
        return fail("'" + variant.function + "' is not an int32_t (const mopt_call *)");
    }
    if (step.written > step.operands.size())
      return fail("step " + Twine(i) + " writes more operands than it has");
    for (int32_t operand : step.operands)
      if (operand < 0 || size_t(operand) >= plan.buffers.size())
        return fail("step " + Twine(i) + " uses buffer " + Twine(operand) + ", which does not exist");
  }
  return true;
}

bool Builder::check() {
  if (module.getNamedValue("mopt_module"))
    return fail("the module has a mopt_module already");
  uint64_t end = 0;
  for (auto [i, weight] : enumerate(plan.weights)) {
    if (weight.offset < end || weight.offset > plan.weightBytes || weight.size() > plan.weightBytes - weight.offset)
      return fail("weight " + Twine(i) + " at " + Twine(weight.offset) + " overlaps another or exceeds the " +
                  Twine(plan.weightBytes) + " bytes of weights");
    end = weight.offset + weight.size();
  }
  for (const std::vector<PlanPort> *list : {&plan.inputs, &plan.outputs})
    for (const PlanPort &port : *list)
      if (port.buffer >= plan.buffers.size() || port.dims.size() > MOPT_MAX_RANK)
        return fail("'" + port.name + "' has no buffer or too many dimensions");
  for (auto [i, buffer] : enumerate(plan.buffers))
    if (buffer.dims.size() > MOPT_MAX_RANK)
      return fail("buffer " + Twine(i) + " has too many dimensions");
  return checkSteps();
}

/// A text ends at its first NUL.
Target Builder::text(StringRef s) {
  if (s.empty())
    return {texts, textPool.add(ArrayRef<char>('\0'))};
  std::string ended = s.take_front(s.find('\0')).str();
  return {texts, textPool.add(ArrayRef<char>(ended.c_str(), ended.size() + 1))};
}

/// Stands for a pool until its size is known.
GlobalVariable *Builder::placeholder(const char *name) {
  return new GlobalVariable(module, ArrayType::get(Type::getInt8Ty(module.getContext()), 0), true,
                            GlobalValue::ExternalLinkage, nullptr, name);
}

template <typename T> void Builder::define(GlobalVariable *&holder, ArrayRef<T> values, unsigned align) {
  Constant *data = ConstantDataArray::get(module.getContext(), values);
  auto *pool = new GlobalVariable(module, data->getType(), true, GlobalValue::PrivateLinkage, data);
  pool->takeName(holder);
  pool->setAlignment(Align(align));
  holder->replaceAllUsesWith(pool);
  holder->eraseFromParent();
  holder = pool;
}

void Builder::ports(Rows &rows, ArrayRef<PlanPort> list) {
  for (const PlanPort &port : list) {
    rows.begin();
    rows.add(text(port.name));
    rows.add(port.dtype);
    rows.add(port.dims.size());
    rows.add(sizes(port.dims));
    rows.add(port.buffer);
    rows.add(0);
    rows.end();
  }
  rows.finish();
}

std::string joinNodes(ArrayRef<std::string> nodes) {
  std::string all;
  for (StringRef node : nodes) {
    all += all.empty() ? "" : "\n";
    for (char c : node)
      all += c == '\n' || c == '\0' ? ' ' : c;
  }
  return all;
}

bool Builder::run() {
  if (!check())
    return false;
  texts = placeholder("mopt.texts");
  words = placeholder("mopt.sizes");
  operands = placeholder("mopt.operands");

  static_assert(sizeof(mopt_symbol) == 6 * 4 && sizeof(mopt_check) == 2 * 8 + 2 * 4 && sizeof(mopt_port) == 6 * 4);
  Rows symbols(module, "rwrwww", plan.symbols.size(), "mopt.symbols");
  for (const PlanSymbol &symbol : plan.symbols) {
    symbols.begin();
    symbols.add(text(symbol.name));
    symbols.add(symbol.kind);
    symbols.add(sizes(symbol.code));
    symbols.add(symbol.code.size());
    symbols.add(symbol.readyAfter);
    symbols.add(0);
    symbols.end();
  }
  symbols.finish();
  Rows checks(module, "qqrw", plan.checks.size(), "mopt.checks");
  for (const PlanCheck &c : plan.checks) {
    checks.begin();
    checks.add(c.left);
    checks.add(c.right);
    checks.add(text(c.what));
    checks.add(0);
    checks.end();
  }
  checks.finish();
  Rows inputs(module, "rwwrww", plan.inputs.size(), "mopt.inputs"),
      outputs(module, "rwwrww", plan.outputs.size(), "mopt.outputs");
  ports(inputs, plan.inputs);
  ports(outputs, plan.outputs);

  static_assert(sizeof(mopt_buffer) == 8 * 4 + 8);
  Rows buffers(module, "wwwwrwwwq", plan.buffers.size(), "mopt.buffers");
  for (const PlanBuffer &buffer : plan.buffers) {
    buffers.begin();
    buffers.add(buffer.kind);
    buffers.add(buffer.dtype);
    buffers.add(buffer.dims.size());
    buffers.add(buffer.index);
    buffers.add(sizes(buffer.dims));
    buffers.add(buffer.firstStep);
    buffers.add(buffer.lastStep);
    buffers.add(MOPT_ALIGNMENT);
    buffers.add(buffer.offset);
    buffers.end();
  }
  buffers.finish();

  static_assert(sizeof(mopt_variant) == 2 * 4 + 8 && sizeof(mopt_step) == 8 * 4 + 2 * 8 + 2 * 4);
  size_t nvariants = 0;
  for (const PlanStep &step : plan.steps)
    nvariants += step.variants.size();
  Rows variants(module, "rrq", nvariants, "mopt.variants");
  nvariants = 0;
  Rows steps(module, "rrrwwwrwqqrw", plan.steps.size(), "mopt.steps");
  for (const PlanStep &step : plan.steps) {
    for (const PlanVariant &variant : step.variants) {
      variants.begin();
      variants.add(Target{nullptr, 0, module.getFunction(variant.function)});
      variants.add(text(variant.name));
      variants.add(variant.chunks);
      variants.end();
    }
    steps.begin();
    steps.add(text(step.name));
    steps.add(text(joinNodes(step.nodes)));
    steps.add(numbers(step.operands));
    steps.add(step.operands.size());
    steps.add(step.written);
    steps.add(step.flags);
    steps.add(Target{variants.global, nvariants * sizeof(mopt_variant)});
    steps.add(step.variants.size());
    nvariants += step.variants.size();
    steps.add(step.macs);
    steps.add(step.bytes);
    steps.add(0);
    steps.add(0);
    steps.end();
  }
  variants.finish();
  steps.finish();

  LLVMContext &context = module.getContext();
  Constant *json = ConstantDataArray::getString(context, manifest, false);
  auto *manifestText = new GlobalVariable(module, json->getType(), true, GlobalValue::PrivateLinkage, json, "mopt.manifest");
  GlobalVariable *weights = nullptr;
  if (plan.weightBytes) {
    weights = placeholder("mopt_weights"); // of the linker script
    weights->setVisibility(GlobalValue::HiddenVisibility);
    weights->setDSOLocal(true);
  }

  static_assert(sizeof(mopt_module) == 24 + 15 * 4 + 4 + 8 + 8 && offsetof(mopt_module, weights_bytes) == 88);
  Rows top(module, "wwwwqrwrwrwrwrwrwrwrwqww", 1, "mopt.module");
  top.begin();
  for (uint64_t value :
       {uint64_t(MOPT_ABI_MAGIC), uint64_t(MOPT_ABI_VERSION), sizeof(mopt_module), uint64_t(target.machine)})
    top.add(value);
  top.add(target.cpuBits);
  top.add(Target{manifestText});
  top.add(manifest.size());
  const std::pair<Rows *, size_t> lists[] = {{&symbols, plan.symbols.size()}, {&checks, plan.checks.size()},
                                             {&inputs, plan.inputs.size()},   {&outputs, plan.outputs.size()},
                                             {&buffers, plan.buffers.size()}, {&steps, plan.steps.size()}};
  for (auto [rows, count] : lists) {
    top.add(rows->here());
    top.add(count);
  }
  top.add(Target{weights});
  top.add(plan.serialMacs);
  top.add(plan.weightBytes);
  top.add(plan.serialBytes);
  top.add(0);
  top.end();
  GlobalVariable *exported = top.finish();
  exported->setName("mopt_module");
  exported->setLinkage(GlobalValue::ExternalLinkage);
  exported->setVisibility(GlobalValue::DefaultVisibility);
  exported->setDSOLocal(true); // exported, yet referred to directly

  define<char>(texts, textPool.bytes, 1);
  define<int64_t>(words, wordPool.bytes, 8);
  define<int32_t>(operands, operandPool.bytes, 4);
  return true;
}

} // namespace

bool addTable(Module &module, const Plan &plan, const TargetSpec &target, StringRef manifest, std::string &error) {
  return Builder(module, plan, target, manifest, error).run();
}

} // namespace mopt
