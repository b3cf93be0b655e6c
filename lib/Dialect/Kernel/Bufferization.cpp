//===- Bufferization.cpp - how kernel ops and groups become buffers -----------------------------------------------===//
//
// Groups are bufferized as regions, before they are outlined, so that destinations are shared across groups without
// copies. An op overwrites its destination; what it may read there is, as an extra, the element that it is about to write.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mopt/Dialect/Kernel/Kernel.h"

using namespace mlir::bufferization;

namespace mopt::kernel {
namespace {

MemRefType bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// Ops that read their inputs and overwrite their destinations.
template <typename Op> struct KernelModel : DstBufferizableOpInterfaceExternalModel<KernelModel<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }
  /// An extra may be the destination: its element is read before that of the result is written in its place.
  bool bufferizesToElementwiseAccess(Operation *op, const AnalysisState &, ArrayRef<OpOperand *> operands) const {
    auto root = dyn_cast<RootOpInterface>(op);
    return root && llvm::all_of(operands, [&](OpOperand *operand) {
             return cast<DestinationStyleOpInterface>(op).isDpsInit(operand) || isExtraAtItsElement(root, *operand);
           });
  }
  static bool isExtraAtItsElement(RootOpInterface root, OpOperand &operand) {
    OperandRange extras = root.getExtras();
    unsigned first = extras.getBeginOperandIndex(), number = operand.getOperandNumber();
    return number >= first && number < first + extras.size() && root.getExtraMaps()[number - first].isIdentity();
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto dps = cast<DestinationStyleOpInterface>(op);
    if (dps.hasPureBufferSemantics())
      return success();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands, outs;
    for (OpOperand &operand : op->getOpOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
      if (dps.isDpsInit(&operand))
        outs.push_back(*buffer);
    }
    OperationState created(op->getLoc(), op->getName(), operands, TypeRange{});
    created.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
    created.propertiesAttr = op->getPropertiesAsAttribute();
    for (Region &region : op->getRegions())
      created.addRegion()->takeBody(region);
    rewriter.create(created);
    replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }
};

struct WeightModel : BufferizableOpInterface::ExternalModel<WeightModel, WeightOp> {
  bool isWritable(Operation *, Value, const AnalysisState &) const { return false; }
  FailureOr<BufferLikeType> getBufferType(Operation *, Value value, const BufferizationOptions &, const BufferizationState &,
                                          SmallVector<Value> &) const {
    return cast<BufferLikeType>(bufferType(value.getType()));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &, BufferizationState &) const {
    auto weight = cast<WeightOp>(op);
    if (isa<MemRefType>(weight.getType()))
      return success();
    auto buffer =
        WeightOp::create(rewriter, op->getLoc(), bufferType(weight.getType()), weight.getValue(), weight.getPanelsAttr());
    replaceOpWithBufferizedValues(rewriter, op, buffer.getResult());
    return success();
  }
};

struct ViewModel : BufferizableOpInterface::ExternalModel<ViewModel, ViewOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand, const AnalysisState &) const {
    if (operand.getOperandNumber() != 0)
      return {};
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }
  FailureOr<BufferLikeType> getBufferType(Operation *, Value value, const BufferizationOptions &, const BufferizationState &,
                                          SmallVector<Value> &) const {
    return cast<BufferLikeType>(bufferType(value.getType()));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto view = cast<ViewOp>(op);
    if (isa<MemRefType>(view.getType()))
      return success();
    FailureOr<Value> source = getBuffer(rewriter, view.getSource(), options, state);
    if (failed(source))
      return failure();
    auto buffer = ViewOp::create(rewriter, op->getLoc(), bufferType(view.getType()), *source, view.getSizes());
    replaceOpWithBufferizedValues(rewriter, op, buffer.getResult());
    return success();
  }
};

/// A group's results are what its terminator yields: buffers that were made outside.
struct GroupModel : BufferizableOpInterface::ExternalModel<GroupModel, GroupOp> {
  AliasingOpOperandList getAliasingOpOperands(Operation *op, Value value, const AnalysisState &) const {
    OpOperand &yielded = op->getRegion(0).front().getTerminator()->getOpOperand(cast<OpResult>(value).getResultNumber());
    return {{&yielded, BufferRelation::Equivalent}};
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const { return {}; }
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  FailureOr<BufferLikeType> getBufferType(Operation *, Value value, const BufferizationOptions &, const BufferizationState &,
                                          SmallVector<Value> &) const {
    return cast<BufferLikeType>(bufferType(value.getType()));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto yield = cast<YieldOp>(op->getRegion(0).front().getTerminator());
    SmallVector<Value> outs;
    rewriter.setInsertionPoint(yield);
    for (Value value : yield.getValues()) {
      FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
      if (failed(buffer))
        return failure();
      if (Operation *definition = (*buffer).getDefiningOp(); definition && op->isProperAncestor(definition))
        return op->emitError("MOPT-C001: yields a buffer made inside the group; a destination is made before it");
      outs.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    OperationState created(op->getLoc(), op->getName(), ValueRange{}, TypeRange{});
    created.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
    created.propertiesAttr = op->getPropertiesAsAttribute();
    created.addRegion()->takeBody(op->getRegion(0));
    rewriter.create(created);
    rewriter.setInsertionPoint(yield);
    rewriter.replaceOpWithNewOp<YieldOp>(yield, ValueRange{});
    replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }
};

struct YieldModel : BufferizableOpInterface::ExternalModel<YieldModel, YieldOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return true; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  bool mustBufferizeInPlace(Operation *, OpOperand &, const AnalysisState &) const { return true; }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return {{op->getParentOp()->getResult(operand.getOperandNumber()), BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *, RewriterBase &, const BufferizationOptions &, BufferizationState &) const {
    return success(); // the group does it
  }
};

} // namespace

void registerBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KernelDialect *) {
    ReferenceOp::attachInterface<KernelModel<ReferenceOp>>(*context);
    GatherOp::attachInterface<KernelModel<GatherOp>>(*context);
    MatMulOp::attachInterface<KernelModel<MatMulOp>>(*context);
    ConvOp::attachInterface<KernelModel<ConvOp>>(*context);
    ConvTransposeOp::attachInterface<KernelModel<ConvTransposeOp>>(*context);
    DepthwiseOp::attachInterface<KernelModel<DepthwiseOp>>(*context);
    MoveOp::attachInterface<KernelModel<MoveOp>>(*context);
    NormOp::attachInterface<KernelModel<NormOp>>(*context);
    PackOp::attachInterface<KernelModel<PackOp>>(*context);
    PoolOp::attachInterface<KernelModel<PoolOp>>(*context);
    ReduceOp::attachInterface<KernelModel<ReduceOp>>(*context);
    ResizeOp::attachInterface<KernelModel<ResizeOp>>(*context);
    SoftmaxOp::attachInterface<KernelModel<SoftmaxOp>>(*context);
    WeightOp::attachInterface<WeightModel>(*context);
    ViewOp::attachInterface<ViewModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, MoptDialect *) {
    GroupOp::attachInterface<GroupModel>(*context);
    YieldOp::attachInterface<YieldModel>(*context);
  });
}

} // namespace mopt::kernel
