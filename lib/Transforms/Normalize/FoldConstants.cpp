//===- FoldConstants.cpp - evaluates what does not depend on inputs -----------------------------------------------===//
//
// One walk from the first op to the last: operands come before their users, so one walk is enough, and its order is the
// order of the program. What a fold costs in memory and time is bounded by counts, never by clocks, so that the result is
// the same on every machine.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mopt/Analysis/Interpreter.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Runtime/mopt_abi.h"
#include "mopt/Support/Checked.h"
#include "mopt/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/xxhash.h"
#include <unordered_map>

namespace mopt {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "mopt/Transforms/Passes.h.inc"

namespace {

/// Multiplications of one fold. A contraction of constants is rare and never worth a minute of compile time.
constexpr int64_t maxWork = int64_t(1) << 34;

Attribute valueOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? constant.getValue() : Attribute();
}

/// Bytes of a constant where it is stored; a splat is one element.
int64_t heldBytes(Attribute attr) {
  if (auto weight = dyn_cast_or_null<WeightAttr>(attr))
    return weight.getBytes();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(attr))
    return storedBytes(dense.getElementType(), dense.isSplat() ? 1 : dense.getNumElements()).value_or(0);
  return 0;
}

class Folder {
public:
  Folder(func::FuncOp func, int64_t slackBytes, int64_t totalBytes)
      : func(func), context(func.getContext()), slackBytes(slackBytes), totalBytes(totalBytes),
        interpreter(context, InterpreterOptions{int64_t(4) << 30, 0, /*silent=*/true}) {}

  void run() {
    Block &body = func.getBody().front();
    std::optional<int64_t> weights = 0;
    for (auto constant : body.getOps<ConstantOp>())
      weights = weights ? checked::add(*weights, heldBytes(constant.getValue())) : weights;
    budget = std::max(totalBytes, weights && *weights < INT64_MAX / 2 ? *weights * 2 : INT64_MAX);
    for (Operation &op : llvm::make_early_inc_range(body))
      visit(&op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op)) {
        op.erase();
        ++removed;
      }
  }
  unsigned folded = 0, removed = 0;

private:
  void visit(Operation *op) {
    const OpRow *row = findOp(op);
    if (!row || row->kind == OpKind::structure || !row->reference || !isMemoryEffectFree(op) || op->use_empty())
      return;
    if (!allConstant(op)) {
      if (auto reshape = dyn_cast<ReshapeOp>(op))
        replaceKnownShape(reshape);
      replaceKnownSizes(op);
    } else if (row->kind == OpKind::view)
      foldView(op);
    else
      evaluate(op, row);
  }

  bool allConstant(Operation *op) {
    bool any = false;
    for (Value operand : op->getOperands()) {
      bool constant = operand.getDefiningOp<ConstantOp>() != nullptr;
      if (!constant && !isAbsent(operand))
        return false;
      any |= constant;
    }
    return any;
  }

  /// What returns a value has promised its type to the caller of the model.
  bool mayReplace(Value value, Type type) {
    return value.getType() == type ||
           llvm::none_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
  }

  void replace(Value value, RankedTensorType type, Attribute attr) {
    Operation *op = value.getDefiningOp();
    // All nodes that are part of the value, so that a report can say where it came from.
    SmallVector<Location> locations{op->getLoc()};
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && made.contains(def))
        locations.push_back(def->getLoc());
    OpBuilder builder(op);
    Location location = locations.size() == 1 ? locations.front() : builder.getFusedLoc(locations);
    auto constant = ConstantOp::create(builder, location, type, attr);
    made.insert(constant);
    value.replaceAllUsesWith(constant.getResult());
    ++folded;
  }

  /// Integers that follow from sizes, though an operand of the op is no constant.
  void replaceKnownSizes(Operation *op) {
    if (op->getNumResults() != 1)
      return;
    Value result = op->getResult(0);
    RankedTensorType declared = tensorOf(result);
    if (!declared || !isa<IntegerType>(declared.getElementType()) || storedBits(declared.getElementType()) < 8)
      return;
    ShapeContext shapes(context, /*quiet=*/true);
    auto values = shapes.constantsOf(result);
    if (!values || declared.getRank() > 1)
      return;
    SmallVector<int64_t> dims(declared.getRank(), values->size());
    auto type = RankedTensorType::get(dims, declared.getElementType());
    if (dims.empty() && values->size() != 1)
      return;
    if (!mayReplace(result, type))
      return;
    size_t width = storedBits(declared.getElementType()) / 8;
    std::vector<uint8_t> bytes(values->size() * width);
    for (auto [i, v] : llvm::enumerate(*values))
      memcpy(bytes.data() + i * width, &v, width); // little endian
    replace(result, type, intern(type, std::move(bytes)));
  }

  /// A shape that is computed from sizes becomes [0, -1, 32]: where the sizes of the result are known, nothing needs to run
  /// for it, and what computed it is often used by nobody else.
  void replaceKnownShape(ReshapeOp op) {
    if (op.getShape().getDefiningOp<ConstantOp>())
      return;
    SmallVector<DimExpr> from = dimsOf(op.getData()), to = dimsOf(op.getReshaped());
    DimExpr before = DimExpr::constant(context, 1), after = before;
    for (DimExpr dim : from)
      before = before * dim;
    SmallVector<int64_t> shape;
    bool rest = false;
    for (auto [i, dim] : llvm::enumerate(to)) {
      after = after * dim;
      if (!dim || dim.isConstant(0))
        return;
      if (auto number = dim.asConstant())
        shape.push_back(*number);
      else if (i < from.size() && from[i] == dim)
        shape.push_back(0);
      else if (std::exchange(rest, true))
        return;
      else
        shape.push_back(-1);
    }
    if (!before || before != after)
      return; // then the numbers themselves matter
    OpBuilder builder(op);
    auto type = RankedTensorType::get(static_cast<int64_t>(shape.size()), builder.getI64Type());
    std::vector<uint8_t> bytes(shape.size() * sizeof(int64_t));
    memcpy(bytes.data(), shape.data(), bytes.size());
    auto constant = ConstantOp::create(builder, op.getLoc(), type, intern(type, std::move(bytes)));
    op.getShapeMutable().assign(constant.getResult());
    op.setAllowzero(0);
    ++folded;
  }

  /// The same bytes under other sizes: costs nothing, whatever the size.
  void foldView(Operation *op) {
    Attribute attr = valueOf(op->getOperand(0));
    ShapeContext shapes(context, /*quiet=*/true);
    SmallVector<Type> types;
    if (!attr || failed(cast<MoptOpInterface>(op).inferTypes(shapes, types)) || types.size() != 1)
      return;
    auto type = dyn_cast<RankedTensorType>(types[0]);
    auto from = tensorOf(op->getOperand(0));
    if (!type || !type.hasStaticShape() || !from.hasStaticShape() || type.getNumElements() != from.getNumElements() ||
        type.getElementType() != from.getElementType() || !mayReplace(op->getResult(0), type))
      return;
    if (auto weight = dyn_cast<WeightAttr>(attr))
      attr = WeightAttr::get(context, weight.getSource(), weight.getOffset(), weight.getBytes(), type);
    else if (auto dense = dyn_cast<DenseElementsAttr>(attr))
      attr = dense.reshape(type);
    else
      return;
    replace(op->getResult(0), type, attr);
  }

  void evaluate(Operation *op, const OpRow *row) {
    int64_t inputBytes = 0, largest = 0, smallest = INT64_MAX;
    SmallVector<TensorData> operands;
    // A splat counts as one element where it lies, but evaluating would write it out.
    for (Value operand : op->getOperands()) {
      Attribute attr = valueOf(operand);
      auto dense = dyn_cast_or_null<DenseElementsAttr>(attr);
      if (dense && dense.isSplat() &&
          storedBytes(dense.getElementType(), dense.getNumElements()).value_or(INT64_MAX) > slackBytes)
        return;
      auto sum = checked::add(inputBytes, heldBytes(attr));
      if (!sum)
        return;
      inputBytes = *sum;
    }
    // Sizes first: what is too large is not computed.
    for (Value operand : op->getOperands()) {
      if (isAbsent(operand)) {
        operands.emplace_back();
        continue;
      }
      auto tensor = interpreter.constant(operand.getDefiningOp());
      if (failed(tensor))
        return;
      largest = std::max(largest, tensor->numElements());
      smallest = std::min(smallest, tensor->numElements());
      operands.push_back(*tensor);
    }
    auto types = interpreter.resultTypes(op, operands);
    if (failed(types))
      return;
    int64_t resultBytes = 0, resultElements = 0;
    for (auto [result, type] : llvm::zip_equal(op->getResults(), *types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        continue;
      auto size = TensorData::byteSize(onnxType(tensor.getElementType()), tensor.getShape());
      auto sum = size ? checked::add(resultBytes, *size) : std::nullopt;
      if (!sum || !mayReplace(result, type))
        return;
      resultBytes = *sum;
      resultElements = std::max(resultElements, tensor.getNumElements());
    }
    auto limit = checked::add<int64_t>(checked::mul<int64_t>(inputBytes, 2).value_or(INT64_MAX / 2), slackBytes);
    if (!limit || resultBytes > *limit || resultBytes > budget - spent)
      return;
    if (StringRef(row->quantClass) == "weighted" && checked::mul(resultElements, smallest).value_or(INT64_MAX) > maxWork)
      return;
    auto results = interpreter.evaluateOp(op, operands);
    if (failed(results)) // the run reports it, with the node's name
      return;
    spent += resultBytes;
    // The operand has done its work: of a file, only the pages in use count as memory.
    for (Value operand : op->getOperands())
      if (auto weight = dyn_cast_or_null<WeightAttr>(valueOf(operand)))
        release(weight);
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *results)) {
      RankedTensorType type = tensor.type(context);
      if (tensor.isAbsent() || result.use_empty() || !type)
        continue;
      replace(result, type, intern(type, std::vector<uint8_t>(tensor.bytes.begin(), tensor.bytes.end())));
    }
  }

  void release(WeightAttr weight) {
    const WeightStore &store = context->getOrLoadDialect<MoptDialect>()->getWeightStore();
    if (auto bytes = store.get(weight.getSource(), weight.getOffset(), weight.getBytes()))
      store.release(*bytes);
  }

  /// Equal contents are kept once.
  Attribute intern(RankedTensorType type, std::vector<uint8_t> bytes) {
    uint64_t hash = llvm::xxh3_64bits(bytes) ^ llvm::hash_value(type.getAsOpaquePointer());
    SmallVector<TypedAttr, 1> &same = kept[hash];
    std::vector<uint8_t> scratch;
    for (TypedAttr attr : same)
      if (attr.getType() == type) {
        scratch.clear();
        if (auto other = constantBytes(attr, context, scratch); other && *other == ArrayRef<uint8_t>(bytes))
          return attr;
      }
    same.push_back(constantFromBytes(type, std::move(bytes)));
    return same.back();
  }

  func::FuncOp func;
  MLIRContext *context;
  int64_t slackBytes, totalBytes, budget = 0, spent = 0;
  Interpreter interpreter;
  llvm::DenseSet<Operation *> made;
  std::unordered_map<uint64_t, SmallVector<TypedAttr, 1>> kept; // by hash of type and bytes
};

/// Functions one after the other: kept bytes get offsets in the order they are made.
struct FoldConstants : impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || !func.getBody().hasOneBlock())
        continue;
      Folder folder(func, slackBytes, totalBytes);
      folder.run();
      numFolded += folder.folded;
      numRemoved += folder.removed;
    }
  }
};

} // namespace
} // namespace mopt
