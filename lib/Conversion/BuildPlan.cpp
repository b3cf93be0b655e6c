//===- BuildPlan.cpp - buffers and groups become the table of steps -----------------------------------------------===//
#include "StepEmitter.h"
#include "mopt/Dialect/Kernel/Panels.h"
#include "mopt/Support/Checked.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/xxhash.h"

namespace mopt {
namespace {

SmallVector<DimExpr> dimsOfAttr(Attribute attr) {
  SmallVector<DimExpr> dims;
  if (auto list = dyn_cast_or_null<DimsAttr>(attr))
    for (DimAttr dim : list.getDims())
      dims.push_back(DimExpr(dim));
  return dims;
}

class Builder : public PlanView {
public:
  using MakeEmitter = llvm::function_ref<std::unique_ptr<StepEmitter>(PlanView &)>;
  Builder(func::FuncOp function, Plan &plan, MakeEmitter make) : function(function), plan(plan), emitter(make(*this)) {}

  LogicalResult run() {
    if (failed(addPorts()) || failed(addSteps()))
      return failure();
    finishBuffers();
    return broken ? failure() : success();
  }

  //===--------------------------------------------------------------------===//
  // PlanView
  //===--------------------------------------------------------------------===//
  BufferView view(Value memref) const override {
    BufferView result;
    auto type = cast<MemRefType>(memref.getType());
    result.element = type.getElementType();
    result.dims = dims(memref);
    while (auto source = memref.getDefiningOp<kernel::ViewOp>())
      memref = source.getSource();
    result.base = memref;
    return result;
  }

  int64_t symbolOf(DimExpr size) override {
    auto [it, isNew] = symbols.insert({size.attr(), static_cast<int64_t>(plan.symbols.size())});
    if (!isNew)
      return it->second;
    PlanSymbol symbol;
    symbol.kind = MOPT_SYM_EXPR;
    symbol.name = size.str();
    SmallVector<int64_t> words;
    size.encode(
        [&](StringRef name) {
          auto found = symbols.find(DimExpr::symbol(function.getContext(), name).attr());
          if (found != symbols.end() && plan.symbols.size() > static_cast<size_t>(found->second))
            return found->second;
          if (!broken)
            function.emitError() << "MOPT-C006: size '" << size.str()
                                 << "' depends on data, not on the shapes of inputs (symbol '" << name
                                 << "'); give the input that decides it a constant value or a static shape";
          broken = true;
          return int64_t(0);
        },
        words);
    symbol.code.assign(words.begin(), words.end());
    plan.symbols.push_back(symbol);
    return it->second;
  }

private:
  mopt_size coded(DimExpr size) {
    if (auto value = size.asConstant())
      return *value;
    return MOPT_SIZE_OF_SYMBOL(symbolOf(size));
  }
  std::vector<mopt_size> coded(ArrayRef<DimExpr> sizes) {
    std::vector<mopt_size> out;
    for (DimExpr size : sizes)
      out.push_back(coded(size));
    return out;
  }

  SmallVector<DimExpr> dims(Value memref) const {
    if (auto argument = dyn_cast<BlockArgument>(memref))
      return dimsOfAttr(function.getArgAttr(argument.getArgNumber(), "mopt.dims"));
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<Value> sizes;
    if (auto alloc = memref.getDefiningOp<memref::AllocOp>())
      sizes = alloc.getDynamicSizes();
    else if (auto source = memref.getDefiningOp<kernel::ViewOp>())
      sizes = source.getSizes();
    SmallVector<DimExpr> result;
    unsigned next = 0;
    for (int64_t size : type.getShape())
      result.push_back(!ShapedType::isDynamic(size) ? DimExpr::constant(function.getContext(), size)
                       : next < sizes.size()        ? kernel::sizeOf(sizes[next++])
                                                    : DimExpr());
    return result;
  }

  uint32_t bufferOf(Value base) {
    auto [it, isNew] = buffers.insert({base, static_cast<uint32_t>(plan.buffers.size())});
    if (isNew) {
      BufferView v = view(base);
      PlanBuffer buffer;
      buffer.dtype = onnxType(v.element);
      buffer.dims = coded(v.dims);
      buffer.firstStep = -1;
      if (auto weight = base.getDefiningOp<kernel::WeightOp>()) {
        buffer.kind = MOPT_BUF_WEIGHT;
        buffer.offset = place(weight);
      }
      plan.buffers.push_back(buffer);
    }
    return it->second;
  }

  /// Offset of a constant in the weights; equal bytes lie there once.
  uint64_t place(kernel::WeightOp weight) {
    std::vector<uint8_t> scratch;
    auto bytes = constantBytes(weight.getValue(), weight.getContext(), scratch);
    auto type = cast<MemRefType>(weight.getType());
    std::optional<Panels> panels = weight.getPanels() ? Panels::fromArray(*weight.getPanels()) : std::nullopt;
    auto expected = storedBytes(type.getElementType(), panels ? panels->extent() : type.getNumElements());
    if (!bytes || !expected || static_cast<int64_t>(bytes->size()) < *expected) {
      weight.emitError("MOPT-C007: its bytes are not at hand: the weight file is missing or too short");
      broken = true;
      return 0;
    }
    *bytes = bytes->take_front(*expected);
    if (bytes->data() == scratch.data()) {
      plan.owned.push_back(std::move(scratch));
      bytes = ArrayRef<uint8_t>(plan.owned.back()).take_front(*expected);
    }
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(*bytes);
    weight.getContext()->getOrLoadDialect<MoptDialect>()->getWeightStore().release(*bytes);
    std::vector<int64_t> order;
    if (panels)
      order.assign(weight.getPanels()->begin(), weight.getPanels()->end());
    auto [it, isNew] = placed.insert({{{hash.low64, hash.high64}, bytes->size(), order}, plan.weightBytes});
    if (isNew) {
      PlanWeight piece;
      piece.offset = plan.weightBytes;
      piece.bytes = *bytes;
      if (panels) {
        piece.made = panels->elements() * panels->elementBytes();
        piece.make = [panels = *panels, source = *bytes](uint8_t *target) { panels.pack(source.data(), target); };
      }
      auto end = checked::alignUp<uint64_t>(plan.weightBytes + piece.size(), emitter->weightAlignment());
      plan.weights.push_back(std::move(piece));
      plan.weightBytes = end.value_or(plan.weightBytes);
    }
    return it->second;
  }

  LogicalResult addPorts() {
    // First the symbols that inputs bind, in the order of the inputs.
    for (BlockArgument argument : function.getArguments()) {
      if (function.getArgAttr(argument.getArgNumber(), "mopt.output"))
        continue;
      for (DimExpr dim : dims(argument))
        if (auto name = dim.asSymbol();
            name && symbols.insert({dim.attr(), static_cast<int64_t>(plan.symbols.size())}).second) {
          PlanSymbol symbol;
          symbol.name = name->str();
          symbol.kind = MOPT_SYM_INPUT;
          plan.symbols.push_back(symbol);
        }
    }
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      SmallVector<DimExpr> sizes = dims(argument);
      if (!type || static_cast<int64_t>(sizes.size()) != type.getRank())
        return function.emitError() << "MOPT-C006: argument " << argument.getArgNumber()
                                    << " is not a buffer with named sizes";
      bool isOutput = static_cast<bool>(function.getArgAttr(argument.getArgNumber(), "mopt.output"));
      auto &ports = isOutput ? plan.outputs : plan.inputs;
      uint32_t number = bufferOf(argument);
      plan.buffers[number].kind = isOutput ? MOPT_BUF_OUTPUT : MOPT_BUF_INPUT;
      plan.buffers[number].index = ports.size();
      PlanPort port;
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "mopt.name"))
        port.name = name.getValue().str();
      port.dtype = onnxType(type.getElementType());
      port.dims = coded(sizes);
      port.buffer = number;
      ports.push_back(port);
    }
    return success();
  }

  /// A view has the elements of its source. Where shapes only of a run tell, the run checks before anything is read.
  LogicalResult checkView(kernel::ViewOp op) {
    SmallVector<DimExpr> sizes[2] = {dims(op.getSource()), dims(op.getResult())};
    if (llvm::is_contained(sizes[0], DimExpr()) || llvm::is_contained(sizes[1], DimExpr()))
      return op.emitError("MOPT-C006: has a buffer whose size has no name");
    DimExpr counts[2] = {DimExpr::product(sizes[0], op.getContext()), DimExpr::product(sizes[1], op.getContext())};
    if (!counts[0] || !counts[1])
      return op.emitError("MOPT-C005: the number of its elements does not fit in 64 bits, or its expression is too large");
    if (counts[0] == counts[1])
      return success();
    PlanCheck check;
    check.left = coded(counts[0]);
    check.right = coded(counts[1]);
    std::string node = onnxName(op.getLoc());
    check.what = "node '" + node + "': its input has " + counts[0].str() + " elements, its output " + counts[1].str();
    plan.checks.push_back(check);
    return success();
  }

  LogicalResult addSteps() {
    for (Operation &op : function.getBody().front()) {
      if (auto source = dyn_cast<kernel::ViewOp>(&op); source && failed(checkView(source)))
        return failure();
      auto group = dyn_cast<GroupOp>(&op);
      if (!group) {
        if (isa<memref::CopyOp>(op))
          return op.emitError("MOPT-C004: a copy is not grouped; run --mopt-group-copies first");
        continue;
      }
      for (Operation &inner : group.getBody().front())
        for (Value operand : inner.getOperands())
          if (isa<MemRefType>(operand.getType()) && llvm::is_contained(dims(operand), DimExpr()))
            return inner.emitError("MOPT-C006: has a buffer whose size has no name");
      FailureOr<StepCode> code = emitter->emit(group);
      if (failed(code))
        return failure();
      PlanStep step;
      int32_t number = plan.steps.size();
      for (const StepVariant &variant : code->variants)
        step.variants.push_back({variant.function, coded(variant.chunks), variant.name});
      step.name = code->name;
      for (std::string &node : onnxNames(group.getLoc()))
        step.nodes.push_back(node);
      for (ArrayRef<Value> bases : {ArrayRef<Value>(code->reads), ArrayRef<Value>(code->writes)})
        for (Value base : bases) {
          uint32_t buffer = bufferOf(base);
          step.operands.push_back(buffer);
          PlanBuffer &b = plan.buffers[buffer];
          b.firstStep = b.firstStep < 0 ? number : b.firstStep;
          b.lastStep = number;
        }
      step.written = code->writes.size();
      step.macs = coded(code->macs);
      step.bytes = coded(code->bytes);
      step.root = group.getRoot().str();
      if (auto why = group->getAttrOfType<StringAttr>("mopt.why"))
        step.why = why.getValue().str();
      step.generated = code->generated;
      step.assumedMacs = guess(code->macs);
      step.assumedBytes = guess(code->bytes);
      plan.steps.push_back(step);
    }
    return success();
  }

  void finishBuffers() {
    for (PlanBuffer &buffer : plan.buffers)
      buffer.firstStep = std::max(0, buffer.firstStep); // inputs that nobody reads
  }

  mutable func::FuncOp function; // op handles are not const-correct
  Plan &plan;
  std::unique_ptr<StepEmitter> emitter;
  llvm::MapVector<Value, uint32_t> buffers;
  llvm::DenseMap<DimAttr, int64_t> symbols;
  /// Offset by hash, length and order of the bytes.
  std::map<std::tuple<std::pair<uint64_t, uint64_t>, uint64_t, std::vector<int64_t>>, uint64_t> placed;
  bool broken = false;
};

/// The value that symbols are taken to have where work must be guessed at compile time.
constexpr int64_t guessedSize = 16;

} // namespace

int64_t guess(DimExpr size) {
  return size ? size.evaluate([](StringRef) { return std::optional<int64_t>(guessedSize); }).value_or(guessedSize)
              : guessedSize;
}

Operation *rootOf(GroupOp group) {
  Operation *root = nullptr;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (root || !isa<kernel::ReferenceOp, linalg::GenericOp, kernel::RootOpInterface, kernel::PackOp>(op)) {
      op.emitError() << "MOPT-C004: '" << op.getName() << "' cannot stand in a step";
      return nullptr;
    }
    root = &op;
  }
  if (!root) {
    group.emitError("MOPT-C004: group is empty");
    return nullptr;
  }
  if (cast<DestinationStyleOpInterface>(root).getDpsInits().empty()) {
    root->emitError("MOPT-C004: writes nothing");
    return nullptr;
  }
  return root;
}

void listBuffers(Operation *root, PlanView &plan, StepCode &step) {
  auto dps = cast<DestinationStyleOpInterface>(root);
  for (OpOperand &operand : root->getOpOperands()) {
    Value base = plan.view(operand.get()).base;
    auto &list = dps.isDpsInit(&operand) ? step.writes : step.reads;
    if (!llvm::is_contained(list, base))
      list.push_back(base);
  }
  llvm::erase_if(step.reads, [&](Value base) { return llvm::is_contained(step.writes, base); });
}

DimExpr bytesOf(Operation *root, PlanView &plan) {
  MLIRContext *context = root->getContext();
  DimExpr bytes = DimExpr::constant(context, 0);
  // Of a table only the rows that the indices name are read: as much as is written.
  auto gather = dyn_cast<kernel::GatherOp>(root);
  for (Value operand : root->getOperands()) {
    BufferView view = plan.view(gather && operand == gather.getInputs().front() ? gather.getOuts().front() : operand);
    bytes = bytes + (DimExpr::product(view.dims, context) * storedBits(view.element)).ceilDiv(8);
  }
  return bytes;
}

LogicalResult buildPlan(ModuleOp module, llvm::function_ref<std::unique_ptr<StepEmitter>(PlanView &)> make, Plan &plan) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return module.emitError("MOPT-C006: has no function");
  if (auto hash = module->getAttrOfType<StringAttr>("mopt.model_hash"))
    plan.modelHash = hash.getValue().str();
  if (auto name = module->getAttrOfType<StringAttr>("mopt.model_name"))
    plan.modelName = name.getValue().str();
  return Builder(*functions.begin(), plan, make).run();
}

} // namespace mopt
