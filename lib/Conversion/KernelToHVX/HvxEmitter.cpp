//===- HvxEmitter.cpp - steps for Hexagon with HVX -----------------------------------------------------------------===//
#include "HvxEmitter.h"
#include "../KernelToVector/Epilogue.h"
#include "HvxTile.h"
#include "mopt/Dialect/Kernel/Panels.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {
namespace {

/// Bytes of a buffer at most: what a signed distance spans.
constexpr int64_t maxBytes = INT32_MAX;

/// Sizes that are numbers, and fit.
LogicalResult checkSizes(Operation *root, PlanView &plan) {
  for (Value operand : root->getOperands()) {
    BufferView view = plan.view(operand);
    for (DimExpr dim : view.dims)
      if (!dim.asConstant())
        return root->emitError() << "MOPT-C031: its size '" << dim.str()
                                 << "' is known only at run time, code for Hexagon takes numbers; give it with --shape";
    DimExpr elements = DimExpr::product(view.dims, root->getContext());
    DimExpr bytes = elements ? (elements * storedBits(view.element)).ceilDiv(8) : DimExpr();
    if (!bytes || *bytes.asConstant() > maxBytes)
      return root->emitError() << "MOPT-C032: one of its tensors has more than " << maxBytes
                               << " bytes; make the shapes smaller";
  }
  return success();
}

/// What an op that has no code is, for a message.
std::string describe(Operation *root) {
  if (auto reference = dyn_cast<kernel::ReferenceOp>(root))
    return "'" + reference.getOp().str() + "'";
  if (auto loop = dyn_cast<linalg::GenericOp>(root)) {
    std::string name;
    for (auto scalar : loop.getBody()->getOps<kernel::ScalarOp>())
      name += (name.empty() ? "" : "+") + scalar.getOp().str();
    return "'" + (name.empty() ? "copy" : name) + "'";
  }
  return "'" + root->getName().stripDialect().str() + "'";
}

} // namespace

LogicalResult checkHvxOperands(kernel::RootOpInterface op, PlanView &plan) {
  Type a = plan.view(op.getInputs()[0]).element, y = plan.view(op.getOuts()[0]).element;
  auto isByte = [](Type type) { return type.isUnsignedInteger(8) || type.isSignlessInteger(8); };
  if (!isByte(a) || !(isByte(y) || y.isSignlessInteger(32)))
    return op.emitError() << "MOPT-C030: it takes " << a << " to " << y
                          << ", code for Hexagon takes integers of 8 bits to such, or to i32; quantize the model";
  auto weight = plan.view(op.getInputs()[1]).base.getDefiningOp<kernel::WeightOp>();
  auto panels = weight && weight.getPanels() ? Panels::fromArray(*weight.getPanels()) : std::nullopt;
  if (!panels || panels->width != HvxCode::width || !panels->toUnsigned())
    return op.emitError(
        "MOPT-C030: its weights are not packed for Hexagon: expected constants in panels of 32 columns of ui8; "
        "start from a phase before `kernels`, with --triple hexagon");
  if (std::string why = HvxTiles::whyNot(op); !why.empty())
    return op.emitError() << "MOPT-C030: " << why;
  unsigned rank = plan.view(op.getOuts()[0]).dims.size();
  bool isConv = isa<kernel::ConvOp>(op);
  for (auto [extra, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
    BufferView view = plan.view(extra);
    bool alongRows = false; // for a convolution all axes between the first and the last are rows
    for (unsigned d = isConv ? 1 : rank - 2; d + 1 < rank; ++d)
      alongRows |= map.isFunctionOfDim(d);
    if (!view.element.isSignlessInteger(32) || !view.base.getDefiningOp<kernel::WeightOp>() || alongRows)
      return op.emitError() << "MOPT-C030: it goes on with an operand of " << view.element
                            << ", expected constants of i32 that are the same for all rows";
  }
  return success();
}

FailureOr<std::unique_ptr<RootEmitter>> HvxEmitter::rootEmitter(Operation *root, const Schedule &) {
  using Result = FailureOr<std::unique_ptr<RootEmitter>>;
  if (failed(checkSizes(root, planView())))
    return failure();
  auto checked = [&](auto op) { return checkHvxOperands(cast<kernel::RootOpInterface>(op.getOperation()), planView()); };
  return llvm::TypeSwitch<Operation *, Result>(root)
      .Case([&](kernel::ConvOp conv) -> Result {
        return failed(checked(conv)) ? Result(failure()) : emitHvxConv(conv, planView());
      })
      .Case([&](kernel::MatMulOp matmul) -> Result {
        return failed(checked(matmul)) ? Result(failure()) : emitHvxMatMul(matmul, planView());
      })
      .Case([&](kernel::MoveOp move) { return emitHvxMove(move, planView()); })
      .Default([&](Operation *op) -> Result {
        return op->emitError()
               << "MOPT-C030: " << describe(op)
               << " has no code for Hexagon, which has matrix products and convolutions of 8-bit integers with "
                  "constant weights, and copies; cut the model there, or compile it for a CPU";
      });
}

FailureOr<StepCode> HvxEmitter::emit(GroupOp group) {
  if (!rootOf(group)) // breaks the contract of its phase: our fault
    return failure();
  FailureOr<StepCode> step = FunctionEmitter::emit(group);
  refused |= failed(step);
  return step;
}

LogicalResult buildHvxPlan(ModuleOp module, Plan &plan, OwningOpRef<ModuleOp> &code, bool &refused) {
  module.getContext()->loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect>();
  code = ModuleOp::create(module.getLoc());
  plan.serialMacs = hvxSchedule().serialMacs();
  plan.serialBytes = Schedule::serialBytes();
  auto make = [&](PlanView &view) { return std::make_unique<HvxEmitter>(*code, view, refused); };
  return buildPlan(module, make, plan);
}

} // namespace mopt
