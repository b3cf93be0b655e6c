//===- FormGroups.cpp ---------------------------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Runtime/mopt_abi.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace mopt {
#define GEN_PASS_DEF_FORMGROUPS
#include "mopt/Transforms/Grouping/Passes.h.inc"

namespace {

/// Element types the loop emitter loads and stores.
bool isLoopType(Type element) {
  switch (onnxType(element)) {
  case MOPT_F32:
  case MOPT_F64:
  case MOPT_F16:
  case MOPT_BF16:
  case MOPT_BOOL:
  case MOPT_I8:
  case MOPT_I16:
  case MOPT_I32:
  case MOPT_I64:
  case MOPT_U8:
  case MOPT_U16:
  case MOPT_U32:
  case MOPT_U64:
    return true;
  default:
    return false;
  }
}

/// Types whose values keep their bits in a register between two ops.
bool staysInRegister(Type element) { return !element.isF16() && !element.isBF16(); }

/// Moves `ops` (in block order) into a new group before `anchor`, the last of them.
void makeGroup(ArrayRef<Operation *> ops, StringRef root, Operation *anchor, StringRef why = "") {
  llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
  SmallVector<Value> yielded;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        yielded.push_back(result);
  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  OpBuilder builder(anchor);
  Location location = locations.size() == 1 ? locations.front() : builder.getFusedLoc(locations);
  auto group = GroupOp::create(builder, location, ValueRange(yielded).getTypes(), builder.getStringAttr(root));
  if (!why.empty())
    group->setAttr(whyAttr, builder.getStringAttr(why));
  Block &body = group.getBody().emplaceBlock();
  for (auto [outer, inner] : llvm::zip_equal(group.getResults(), yielded))
    inner.replaceUsesWithIf(outer, [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
  for (Operation *op : ops)
    op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, location, yielded);
}

struct FormGroups : impl::FormGroupsBase<FormGroups> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    SmallVector<Operation *> work;
    for (Operation &op : block)
      if (const OpRow *row = findOp(&op); row && (row->kind == OpKind::elementwise || row->kind == OpKind::reference))
        work.push_back(&op);
    llvm::SmallPtrSet<Operation *, 32> done;
    for (Operation *op : llvm::reverse(work)) {
      if (!done.insert(op).second)
        continue;
      if (op->use_empty()) {
        op->erase();
        continue;
      }
      if (!isLoopElementwise(op)) { // an epilogue would have taken it
        Operation *root = op;
        SmallVector<Operation *> members{op};
        if (Operation *producer = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
            producer && producer->getBlock() == &block && producer->hasOneUse() && joinsMatMul(op, producer) &&
            hasKernel(producer)) {
          root = producer;
          members.push_back(root);
          done.insert(root);
        }
        takeTransposes(root, members, done);
        makeGroup(inOrder(members), rootOf(root), op, whyNoKernel(root));
        continue;
      }
      SmallVector<Operation *> members = chain(op, done);
      std::string why;
      Operation *root = rootFor(members, why);
      if (root) {
        members.push_back(root);
        done.insert(root);
      }
      if (root)
        takeTransposes(root, members, done);
      makeGroup(inOrder(members), root ? rootOf(root) : "none", op, why);
    }
  }

  static SmallVector<Operation *> inOrder(SmallVector<Operation *> ops) {
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return ops;
  }

  /// Adds transposes of operands that only the matrix product `root` reads.
  static void takeTransposes(Operation *root, SmallVector<Operation *> &members, llvm::SmallPtrSet<Operation *, 32> &done) {
    if (!hasKernel(root))
      return;
    for (Value operand : root->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == root->getBlock() &&
                                                         producer->hasOneUse() && joinsMatMul(producer, root) &&
                                                         done.insert(producer).second)
        members.push_back(producer);
  }

  /// The op whose kernel can take all of `members` as its epilogue: the last one, so that what the others compute is there.
  /// Else null and the reason, by the last op with a kernel that feeds them.
  static Operation *rootFor(ArrayRef<Operation *> members, std::string &why) {
    llvm::SmallPtrSet<Operation *, 8> inside(members.begin(), members.end());
    Operation *last = members.front(), *best = nullptr, *refused = nullptr;
    for (Operation *member : members)
      for (Value operand : member->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && producer->getBlock() == last->getBlock() && !inside.contains(producer) && hasKernel(producer)) {
          Operation *&place = refusal(producer, members, inside).empty() ? best : refused;
          if (!place || place->isBeforeInBlock(producer))
            place = producer;
        }
    if (!best && refused)
      why = "not in the epilogue of '" + onnxName(refused->getLoc()) + "': " + refusal(refused, members, inside);
    return best;
  }

  /// Why the kernel of `root` cannot take `members` as epilogue; empty if it can.
  static std::string refusal(Operation *root, ArrayRef<Operation *> members,
                             const llvm::SmallPtrSetImpl<Operation *> &inside) {
    auto isFloat = [](Value value) { return tensorOf(value).getElementType().isF32(); };
    for (Operation *user : root->getUsers())
      if (!inside.contains(user))
        return "its result is also read by '" + onnxName(user->getLoc()) + "'";
    if (!takesEpilogue(root))
      return "its result is written in parts, or is not f32";
    if (dimsOf(root->getResult(0)) != dimsOf(members.front()->getResult(0)))
      return "its result is broadcast";
    for (Operation *member : members) {
      if (!isFloat(member->getResult(0)) || !llvm::all_of(member->getOperands(), isFloat))
        return "'" + onnxName(member->getLoc()) + "' is not f32 throughout";
      for (Value operand : member->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer != root && !inside.contains(producer) && !fitsEpilogue(root, dimsOf(operand)))
          return "an operand of '" + onnxName(member->getLoc()) + "' changes along some spatial axes and not along others";
    }
    return "";
  }

  /// `last` and the elementwise ops before it whose results only this set reads.
  static SmallVector<Operation *> chain(Operation *last, llvm::SmallPtrSet<Operation *, 32> &done) {
    SmallVector<Operation *> members{last};
    llvm::SmallPtrSet<Operation *, 8> set{last};
    auto joins = [&](Operation *op) {
      return op && op->getBlock() == last->getBlock() && !done.contains(op) && isLoopElementwise(op) &&
             dimsOf(op->getResult(0)) == dimsOf(last->getResult(0)) &&
             staysInRegister(tensorOf(op->getResult(0)).getElementType()) &&
             llvm::all_of(op->getUsers(), [&](Operation *user) { return set.contains(user); });
    };
    if (!staysInRegister(tensorOf(last->getResult(0)).getElementType()))
      return members;
    // A producer may qualify only after another of its readers has joined: repeat until nothing changes.
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned i = 0; i < members.size(); ++i)
        for (Value operand : members[i]->getOperands())
          if (Operation *producer = operand.getDefiningOp(); joins(producer) && set.insert(producer).second) {
            members.push_back(producer);
            done.insert(producer);
            changed = true;
          }
    }
    return members;
  }
};

} // namespace

bool isLoopElementwise(Operation *op) {
  const OpRow *row = findOp(op);
  if (!row || row->kind != OpKind::elementwise || op->getNumResults() != 1)
    return false;
  SmallVector<DimExpr> result = dimsOf(op->getResult(0));
  RankedTensorType type = tensorOf(op->getResult(0));
  if (!type || !isLoopType(type.getElementType()))
    return false;
  for (Value operand : op->getOperands()) {
    RankedTensorType operandType = tensorOf(operand);
    if (!operandType || !isLoopType(operandType.getElementType()))
      return false;
    SmallVector<DimExpr> dims = dimsOf(operand);
    if (dims.size() > result.size())
      return false;
    for (auto [have, want] : llvm::zip_equal(dims, ArrayRef(result).take_back(dims.size())))
      if (!have || !want || (have != want && !have.isConstant(1)))
        return false;
  }
  return true;
}

StringRef rootOf(Operation *op) {
  StringRef name = findOp(op)->mnemonic;
  if (findOp(op)->kind == OpKind::elementwise)
    return "none";
  if (name.contains("conv"))
    return "conv";
  if (StringRef(findOp(op)->quantClass) == "weighted")
    return llvm::is_contained({"rnn", "gru", "lstm"}, name) ? "recurrent" : "contraction";
  if (name.contains("norm") || name == "lrn")
    return "norm";
  if (name.contains("quantize"))
    return "quant";
  return StringRef(findOp(op)->quantClass) == "reduce" ? "reduction" : "movement";
}

} // namespace mopt
