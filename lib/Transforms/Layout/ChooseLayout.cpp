//===- ChooseLayout.cpp - which images lie channels last ----------------------------------------------------------===//
//
// Each op that can run either way is a node; a value that one side makes and the other reads costs a move of its bytes; a
// convolution that keeps its channels second costs what the kernel would have saved. The cheapest division of this graph
// (a minimum cut) is the choice: it leaves a lone convolution between ops of the other kind alone, and carries a chain
// through whatever follows. Then one walk rewrites; moves are made once for all readers, and moves of the model that undo
// them vanish.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "LastForm.h"
#include "MinCut.h"
#include "mopt/Analysis/Interpreter.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace mopt {
#define GEN_PASS_DEF_CHOOSELAYOUT
#include "mopt/Transforms/Passes.h.inc"

namespace {

using Permutation = SmallVector<int64_t>;

bool isIdentity(ArrayRef<int64_t> perm) {
  return llvm::all_of(llvm::enumerate(perm), [](auto at) { return static_cast<int64_t>(at.index()) == at.value(); });
}
/// transpose(transpose(x, inner), outer) = transpose(x, composed).
Permutation composed(ArrayRef<int64_t> inner, ArrayRef<int64_t> outer) {
  Permutation both;
  for (int64_t axis : outer)
    both.push_back(inner[axis]);
  return both;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//
class Chooser {
public:
  explicit Chooser(Block &block) : block(block) {}

  /// The ops that shall run channels last, with how. Empty where no op gains.
  llvm::MapVector<Operation *, LastForm> run() {
    bool gains = false;
    for (Operation &op : block)
      if (auto form = lastFormOf(&op)) {
        gains |= form->gain > 0;
        nodes[&op] = graph.addNode();
        forms.insert({&op, std::move(*form)});
      }
    llvm::MapVector<Operation *, LastForm> chosen;
    if (!gains)
      return chosen;
    for (auto &[op, form] : forms)
      if (form.gain > 0)
        graph.addEdge(MinCut::source, nodes[op], form.gain);
      else if (form.gain < 0)
        graph.addEdge(nodes[op], MinCut::sink, -form.gain);
    for (BlockArgument argument : block.getArguments())
      addValue(argument, MinCut::sink);
    for (Operation &op : block)
      for (Value result : op.getResults())
        if (auto side = makerOf(&op))
          addValue(result, *side);
    if (!graph.solve())
      return chosen;
    std::vector<bool> side = graph.sourceSide();
    for (auto &[op, form] : forms)
      if (side[nodes[op]])
        chosen.insert({op, form});
    return chosen;
  }

private:
  /// The side on which a value is made. Nothing for a move of the model that can as well end in the other layout.
  std::optional<unsigned> makerOf(Operation *op) {
    if (auto move = dyn_cast<TransposeOp>(op)) {
      int64_t rank = tensorOf(move.getTransposed()).getRank();
      if (isIdentity(composed(move.permutation(), toLast(rank))))
        return MinCut::source; // its operand is the image, channels last
      return std::nullopt;
    }
    auto form = forms.find(op);
    return form != forms.end() && form->second.resultsLast ? nodes[op] : unsigned(MinCut::sink);
  }

  std::optional<unsigned> readerOf(OpOperand &use) {
    Operation *op = use.getOwner();
    if (isa<ShapeOp, SizeOp>(op)) // read no elements
      return std::nullopt;
    if (auto move = dyn_cast<TransposeOp>(op)) {
      int64_t rank = tensorOf(move.getData()).getRank();
      if (isIdentity(composed(fromLast(rank), move.permutation())))
        return MinCut::source;
      return std::nullopt;
    }
    auto form = forms.find(op);
    bool image = form != forms.end() && llvm::is_contained(form->second.images, use.getOperandNumber());
    return image ? nodes[op] : unsigned(MinCut::sink);
  }

  void addValue(Value value, unsigned maker) {
    if (!isImage(value) || value.use_empty() || value.getDefiningOp<ConstantOp>())
      return;
    // A move that leaves every element where it is costs nothing, but is still one op more than none.
    int64_t rank = tensorOf(value).getRank();
    int64_t cost = movesUnitAxesOnly(dimsOf(value), toLast(rank)) ? 1 : std::max<int64_t>(1, costOfMove(value));
    unsigned toPlain = graph.addNode(), toLastNode = graph.addNode();
    graph.addEdge(maker, toPlain, cost);
    graph.addEdge(toLastNode, maker, cost);
    for (OpOperand &use : value.getUses())
      if (auto reader = readerOf(use)) {
        graph.addEdge(toPlain, *reader, MinCut::infinite);
        graph.addEdge(*reader, toLastNode, MinCut::infinite);
      }
  }

  Block &block;
  MinCut graph;
  llvm::DenseMap<Operation *, unsigned> nodes;
  llvm::MapVector<Operation *, LastForm> forms;
};

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//
class Rewriter {
public:
  Rewriter(func::FuncOp func, llvm::MapVector<Operation *, LastForm> &chosen)
      : block(func.getBody().front()), context(func.getContext()), builder(context), chosen(chosen),
        interpreter(context, InterpreterOptions{int64_t(4) << 30, 0, /*silent=*/true}) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : ops) {
      auto form = chosen.find(op);
      if (form != chosen.end() && build(op, form->second))
        ++placed;
      else
        readPlain(op);
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
  unsigned placed = 0;

private:
  /// A value as a permutation of one that is there: that of its channels-last form, or what a move of the model reads.
  std::pair<Value, Permutation> rootOf(Value value) {
    Permutation perm = llvm::to_vector(llvm::seq<int64_t>(0, tensorOf(value).getRank()));
    while (true) {
      if (auto found = last.find(value); found != last.end())
        return {found->second, composed(fromLast(perm.size()), perm)};
      auto move = value.getDefiningOp<TransposeOp>();
      if (!move)
        return {value, perm};
      perm = composed(move.permutation(), perm);
      value = move.getData();
    }
  }

  /// transpose(root, perm), made once.
  Value moved(Value root, ArrayRef<int64_t> perm, Location location) {
    if (isIdentity(perm))
      return root;
    Value &made = moves[{root, Permutation(perm)}];
    if (!made) {
      builder.setInsertionPointAfterValue(root);
      SmallVector<DimExpr> dims = dimsOf(root), out;
      for (int64_t axis : perm)
        out.push_back(dims[axis]);
      made = TransposeOp::create(builder, location, tensorType(out, tensorOf(root).getElementType()), root,
                                 builder.getDenseI64ArrayAttr(perm));
    }
    return made;
  }

  Value lastOf(Value value, Location location) {
    if (value.getDefiningOp<ConstantOp>())
      if (Value constant = placedConstant(value, tensorOf(value).getRank(), /*trim=*/false, location))
        return constant;
    auto [root, perm] = rootOf(value);
    return moved(root, composed(perm, toLast(perm.size())), location);
  }

  //===--------------------------------------------------------------------===//
  // Operands that are no images
  //===--------------------------------------------------------------------===//
  /// A constant of `rank` axes (ones are put before those it has), channels last. Without its leading ones where `trim`.
  Value placedConstant(Value value, int64_t rank, bool trim, Location location) {
    auto constant = value.getDefiningOp<ConstantOp>();
    RankedTensorType type = tensorOf(value);
    SmallVector<int64_t> wide(rank - type.getRank(), 1), shape;
    llvm::append_range(wide, type.getShape());
    Permutation perm = toLast(rank);
    for (int64_t axis : perm)
      shape.push_back(wide[axis]);
    auto wideType = RankedTensorType::get(wide, type.getElementType());
    auto placedType = RankedTensorType::get(shape, type.getElementType());
    Attribute attr = constant.getValue();
    if (!movesUnitAxesOnly(dimsOf(wideType), perm) && !isSplat(attr)) {
      // The reference function moves the elements. What it reads is made of the same bytes, under more axes.
      Attribute wideAttr = reshaped(attr, wideType);
      if (!wideAttr)
        return {};
      builder.setInsertionPointAfter(constant);
      auto source = ConstantOp::create(builder, constant.getLoc(), wideType, wideAttr);
      auto move = TransposeOp::create(builder, location, placedType, source.getResult(), builder.getDenseI64ArrayAttr(perm));
      auto data = interpreter.constant(source);
      auto result = succeeded(data) ? interpreter.evaluateOp(move, {*data}) : FailureOr<Interpreter::Tensors>();
      attr = {};
      if (succeeded(result)) {
        ArrayRef<uint8_t> bytes = result->front().bytes;
        attr = constantFromBytes(placedType, std::vector<uint8_t>(bytes.begin(), bytes.end()));
      }
      move.erase();
      source.erase();
    }
    if (trim) {
      size_t ones = 0;
      while (ones + 1 < shape.size() && shape[ones] == 1)
        ++ones;
      placedType = RankedTensorType::get(ArrayRef(shape).drop_front(ones), type.getElementType());
    }
    attr = attr ? reshaped(attr, placedType) : attr;
    if (!attr)
      return {};
    builder.setInsertionPointAfter(constant);
    return ConstantOp::create(builder, constant.getLoc(), placedType, attr);
  }

  static bool isSplat(Attribute attr) {
    auto dense = dyn_cast<DenseElementsAttr>(attr);
    return dense && dense.isSplat();
  }

  /// The same elements in the same order; all elements of a splat are the same in any.
  Attribute reshaped(Attribute attr, RankedTensorType type) {
    if (auto weight = dyn_cast<WeightAttr>(attr))
      return WeightAttr::get(context, weight.getSource(), weight.getOffset(), weight.getBytes(), type);
    auto dense = dyn_cast<DenseElementsAttr>(attr);
    return !dense ? Attribute() : dense.isSplat() ? dense.resizeSplat(type) : dense.reshape(type);
  }

  /// An operand with fewer axes than the result, or a constant: where its axes belong after the move.
  Value placedOperand(Value value, int64_t rank, Location location) {
    RankedTensorType type = tensorOf(value);
    if (!type || llvm::all_of(type.getShape(), [](int64_t size) { return size == 1; }))
      return value;
    if (value.getDefiningOp<ConstantOp>())
      return placedConstant(value, rank, /*trim=*/true, location);
    SmallVector<DimExpr> dims = dimsOf(value), wide(rank - dims.size(), DimExpr::constant(context, 1));
    if (llvm::is_contained(dims, DimExpr()))
      return {};
    llvm::append_range(wide, dims);
    builder.setInsertionPointAfterValue(value);
    Value axes = list(llvm::to_vector(llvm::seq<int64_t>(0, rank - dims.size())), location);
    auto spread = UnsqueezeOp::create(builder, location, tensorType(wide, type.getElementType()), value, axes);
    return moved(spread.getResult(), toLast(rank), location);
  }

  Value list(ArrayRef<int64_t> values, Location location, Type element = {}) {
    element = element ? element : builder.getI64Type();
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, element);
    SmallVector<Attribute> attrs;
    for (int64_t value : values)
      attrs.push_back(builder.getIntegerAttr(element, value));
    return ConstantOp::create(builder, location, type, DenseElementsAttr::get(type, attrs));
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//
  /// The op on images that lie channels last, beside the old one. False where its shape rule says otherwise: then the old
  /// one stays.
  bool build(Operation *op, const LastForm &form) {
    Location location = op->getLoc();
    OperationState state(location, op->getName());
    state.operands.assign(op->operand_begin(), op->operand_end());
    int64_t rank = tensorOf(op->getResult(0)) ? tensorOf(op->getResult(0)).getRank() : 0;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (llvm::is_contained(form.images, i))
        state.operands[i] = lastOf(operand, location);
      else if (form.broadcasts)
        state.operands[i] = placedOperand(operand, rank, location);
      if (!state.operands[i])
        return false;
    }
    builder.setInsertionPoint(op);
    for (const auto &[operand, values] : form.lists) {
      RankedTensorType old = tensorOf(op->getOperand(operand));
      // Axes of a slice have the type of its starts.
      old = old || !isa<SliceOp>(op) ? old : tensorOf(op->getOperand(1));
      state.operands[operand] = list(values, location, old ? old.getElementType() : Type());
    }
    for (OpResult result : op->getResults()) {
      bool image = form.resultsLast && tensorOf(result) && tensorOf(result).getRank() >= 3;
      state.addTypes(llvm::is_contained(form.leftOut, result.getResultNumber()) ? Type(builder.getNoneType())
                     : image                                                    ? Type(lastType(result.getType()))
                                                                                : result.getType());
    }
    state.addAttributes(op->getAttrs());
    for (NamedAttribute attr : form.attributes)
      state.attributes.set(attr.getName(), attr.getValue());
    Operation *made = builder.create(state);
    if (!fits(made)) {
      made->erase();
      return false;
    }
    for (auto [old, fresh] : llvm::zip_equal(op->getResults(), made->getResults())) {
      if (old.use_empty())
        continue;
      if (old.getType() == fresh.getType() && !(form.resultsLast && isImage(old)))
        old.replaceAllUsesWith(fresh);
      else
        last[old] = fresh;
    }
    return true;
  }

  /// Whether the shape rule gives the types of the results. A size that only the run can tell is any.
  bool fits(Operation *op) {
    ShapeContext shapes(context, /*quiet=*/true);
    SmallVector<Type> types;
    if (failed(cast<MoptOpInterface>(op).inferTypes(shapes, types)) || types.size() != op->getNumResults())
      return false;
    for (auto [type, result] : llvm::zip_equal(types, op->getResults())) {
      SmallVector<DimExpr> want = dimsOf(type), have = dimsOf(result);
      if (isa<NoneType>(type) != isAbsent(result) || want.size() != have.size())
        return false;
      for (auto [a, b] : llvm::zip_equal(want, have))
        if (a != b && !shapes.isNew(a))
          return false;
    }
    return true;
  }

  /// An op that stays: what it reads channels last it gets in the order of ONNX.
  void readPlain(Operation *op) {
    if (auto move = dyn_cast<TransposeOp>(op)) {
      auto [root, perm] = rootOf(move.getTransposed());
      if (root == move.getData())
        return;
      if (Operation *maker = root.getDefiningOp(); maker && isIdentity(perm))
        maker->setLoc(builder.getFusedLoc({maker->getLoc(), op->getLoc()})); // the node lives on in what it undid
      if (Value value = moved(root, perm, op->getLoc()); value.getType() == move.getType())
        move.getTransposed().replaceAllUsesWith(value);
      else
        usePlain(op);
      return;
    }
    if (auto shape = dyn_cast<ShapeOp>(op); shape && last.contains(shape.getData()))
      return readSizes(shape);
    if (auto size = dyn_cast<SizeOp>(op); size && last.contains(size.getData())) {
      size->setOperand(0, last.lookup(size.getData()));
      return;
    }
    usePlain(op);
  }

  void usePlain(Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto found = last.find(operand.get());
      if (found == last.end())
        continue;
      Value image = found->second;
      Location location = operand.get().getLoc();
      Value plain = moved(image, fromLast(tensorOf(image).getRank()), location);
      plain.setType(operand.get().getType()); // the same sizes, as the old op wrote them
      operand.set(plain);
    }
  }

  /// Sizes need no elements: those of the image, in the other order.
  void readSizes(ShapeOp op) {
    Value image = last.lookup(op.getData());
    int64_t rank = tensorOf(image).getRank();
    auto clamped = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
    SmallVector<int64_t> places;
    for (int64_t axis = clamped(op.getStart()), end = clamped(op.getEnd() ? *op.getEnd() : rank); axis < end; ++axis)
      places.push_back(channelsLastAxis(axis, rank));
    builder.setInsertionPoint(op);
    auto all = RankedTensorType::get({rank}, builder.getI64Type());
    auto sizes = ShapeOp::create(builder, op.getLoc(), all, image, /*start=*/0, /*end=*/IntegerAttr());
    auto picked = GatherOp::create(builder, op.getLoc(), op.getType(), sizes.getResult(), list(places, op.getLoc()));
    op.getResult().replaceAllUsesWith(picked.getResult());
  }

  Block &block;
  MLIRContext *context;
  OpBuilder builder;
  llvm::MapVector<Operation *, LastForm> &chosen;
  Interpreter interpreter;
  llvm::DenseMap<Value, Value> last; // old result -> the same channels last
  struct Less {
    bool operator()(const std::pair<Value, Permutation> &a, const std::pair<Value, Permutation> &b) const {
      if (a.first != b.first)
        return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
      return a.second < b.second;
    }
  };
  std::map<std::pair<Value, Permutation>, Value, Less> moves; // looked up only: addresses decide no order of ops
};

struct ChooseLayout : impl::ChooseLayoutBase<ChooseLayout> {
  using ChooseLayoutBase::ChooseLayoutBase;
  /// Functions one after the other: constants that are placed get offsets in the order they are made.
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || !func.getBody().hasOneBlock())
        continue;
      llvm::MapVector<Operation *, LastForm> chosen = Chooser(func.getBody().front()).run();
      if (chosen.empty())
        continue;
      Rewriter rewriter(func, chosen);
      rewriter.run();
      numPlaced += rewriter.placed;
    }
  }
};

} // namespace
} // namespace mopt
