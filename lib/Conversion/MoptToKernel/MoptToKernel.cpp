//===- MoptToKernel.cpp - groups of mopt ops become groups of destination-passing ops -----------------------------===//
#include "Roots.h"
#include "mopt/Conversion/Conversion.h"
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Transforms/Grouping/Grouping.h"

namespace mopt {
#define GEN_PASS_DEF_CONVERTMOPTTOKERNEL
#define GEN_PASS_DEF_GROUPCOPIES
#include "mopt/Conversion/Passes.h.inc"

namespace {

RankedTensorType plain(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

Attribute dimsAttr(Type type) {
  SmallVector<DimAttr> dims;
  for (DimExpr dim : dimsOf(type))
    dims.push_back(dim.attr());
  return DimsAttr::get(type.getContext(), dims);
}

/// Converts one function; the old one stays until the new one is complete.
class Converter {
public:
  Converter(func::FuncOp source, int64_t int8Width) : source(source), builder(source), int8Width(int8Width) {}

  FailureOr<func::FuncOp> run() {
    createFunction();
    for (Operation &op : source.getBody().front().without_terminator())
      if (failed(convert(&op)))
        return failure();
    auto returned = cast<func::ReturnOp>(source.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(returned.getOperands())) {
      auto write = bufferization::MaterializeInDestinationOp::create(
          builder, value.getLoc(), /*result=*/Type(), map.lookup(value), target.getArgument(source.getNumArguments() + i));
      write.setRestrict(true);
      write.setWritable(true);
    }
    func::ReturnOp::create(builder, returned.getLoc());
    // What only shapes were computed from: kernels take sizes from the shapes themselves.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(target.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    return target;
  }

private:
  void createFunction() {
    SmallVector<Type> types;
    for (Type type : source.getArgumentTypes())
      types.push_back(plain(type));
    for (Type type : source.getResultTypes())
      types.push_back(MemRefType::get(plain(type).getShape(), plain(type).getElementType()));
    target = func::FuncOp::create(builder, source.getLoc(), source.getName(), builder.getFunctionType(types, {}));
    Block *body = target.addEntryBlock();
    auto nameOf = [&](Attribute name, StringRef fallback, unsigned i) -> Attribute {
      return name ? name : builder.getStringAttr(fallback + Twine(i));
    };
    for (unsigned i = 0; i < source.getNumArguments(); ++i) {
      target.setArgAttr(i, "mopt.name", nameOf(source.getArgAttr(i, "mopt.name"), "input", i));
      target.setArgAttr(i, "mopt.dims", dimsAttr(source.getArgumentTypes()[i]));
      target.setArgAttr(i, "bufferization.writable", builder.getBoolAttr(false)); // else the caller's input is overwritten
      map.map(source.getArgument(i), body->getArgument(i));
    }
    for (unsigned i = 0; i < source.getNumResults(); ++i) {
      unsigned a = source.getNumArguments() + i;
      target.setArgAttr(a, "mopt.name", nameOf(source.getResultAttr(i, "mopt.name"), "output", i));
      target.setArgAttr(a, "mopt.dims", dimsAttr(source.getResultTypes()[i]));
      target.setArgAttr(a, "mopt.output", builder.getUnitAttr());
    }
    builder.setInsertionPointToStart(body);
  }

  SmallVector<Value> dynamicSizes(Location loc, Type type) {
    SmallVector<Value> sizes;
    for (DimExpr dim : dimsOf(type))
      if (!dim.asConstant())
        sizes.push_back(kernel::materializeSize(builder, loc, dim));
    return sizes;
  }

  Value destination(Location loc, Type type) {
    SmallVector<Value> sizes = dynamicSizes(loc, type);
    return tensor::EmptyOp::create(builder, loc, plain(type), sizes);
  }

  LogicalResult convert(Operation *op) {
    Location loc = op->getLoc();
    if (isa<NoneOp>(op))
      return success();
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      map.map(constant.getResult(), kernel::WeightOp::create(builder, loc, plain(constant.getType()), constant.getValue()));
      return success();
    }
    if (auto group = dyn_cast<GroupOp>(op))
      return convertGroup(group);
    if (const OpRow *row = findOp(op); row && row->kind == OpKind::view) {
      Type type = op->getResult(0).getType();
      SmallVector<Value> sizes = dynamicSizes(loc, type);
      map.map(op->getResult(0), kernel::ViewOp::create(builder, loc, plain(type), map.lookup(op->getOperand(0)), sizes));
      return success();
    }
    return op->emitError() << "MOPT-C003: '" << op->getName() << "' is not grouped; run --mopt-form-groups first";
  }

  LogicalResult convertGroup(GroupOp group) {
    auto yield = cast<YieldOp>(group.getBody().front().getTerminator());
    Operation *root = rootIn(group);
    bool fused = root && hasKernel(root);
    if (root && !fused && !llvm::hasNItems(group.getBody().front().without_terminator(), 1))
      return group.emitError("MOPT-C003: a root without a kernel has a prologue or epilogue; form groups without");
    if (fused && yield.getValues().size() != 1)
      return group.emitError("MOPT-C003: a root with an epilogue yields one value; form groups so");
    // Destinations are made outside. An optional result that nobody reads is not computed.
    SmallVector<Value> written, outs;
    if (root && !fused) {
      const OpRow *row = findOp(root);
      for (auto [i, result] : llvm::enumerate(root->getResults()))
        if (!isa<NoneType>(result.getType()) &&
            (!result.use_empty() || !row->resultRows()[std::min<size_t>(i, row->numResults - 1)].optional))
          written.push_back(result);
    } else {
      llvm::append_range(written, yield.getValues());
    }
    for (Value value : written)
      outs.push_back(destination(group.getLoc(), value.getType()));
    KernelParts parts;
    if (fused)
      parts = kernelParts(root);
    SmallVector<Type> types;
    for (Value value : yield.getValues())
      types.push_back(plain(value.getType()));
    auto created = GroupOp::create(builder, group.getLoc(), types, group.getRootAttr());
    created->setDiscardableAttrs(group->getDiscardableAttrDictionary());
    Block &body = created.getBody().emplaceBlock();
    OpBuilder inner = OpBuilder::atBlockBegin(&body);
    ValueRange results = fused  ? makeKernel(inner, root, parts, group, outs)
                         : root ? makeReference(inner, root, written, outs)
                                : makeLoop(inner, group, written, outs);
    SmallVector<Value> yielded;
    for (Value value : yield.getValues())
      yielded.push_back(results[llvm::find(written, value) - written.begin()]);
    YieldOp::create(inner, group.getLoc(), yielded);
    for (auto [old, fresh] : llvm::zip_equal(group.getResults(), created.getResults()))
      map.map(old, fresh);
    return success();
  }

  ValueRange makeReference(OpBuilder &inner, Operation *op, ArrayRef<Value> written, ArrayRef<Value> outs) {
    SmallVector<int64_t> present, writes;
    SmallVector<Value> inputs;
    SmallVector<Type> types;
    for (Value operand : op->getOperands()) {
      present.push_back(!isAbsent(operand));
      if (!isAbsent(operand))
        inputs.push_back(map.lookup(operand));
    }
    for (Value result : op->getResults())
      writes.push_back(llvm::is_contained(written, result));
    for (Value value : written)
      types.push_back(plain(value.getType()));
    return kernel::ReferenceOp::create(inner, op->getLoc(), types, findOp(op)->mnemonic, inherentAttrs(op), present, writes,
                                       inputs, outs)
        .getResults();
  }

  /// The attributes that the record has; names of tensors and the like stay behind.
  DictionaryAttr inherentAttrs(Operation *op) {
    SmallVector<NamedAttribute> attrs;
    for (const AttrRow &row : findOp(op)->attrRows())
      if (std::optional<Attribute> value = op->getInherentAttr(row.name); value && *value)
        attrs.push_back({StringAttr::get(op->getContext(), row.name), *value});
    return DictionaryAttr::get(op->getContext(), attrs);
  }

  /// Where an operand with sizes `dims` is read for a position in `space`.
  AffineMap broadcastMap(ArrayRef<DimExpr> dims, ArrayRef<DimExpr> space) {
    MLIRContext *context = builder.getContext(); // a scalar has no axes to ask
    SmallVector<AffineExpr> exprs;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      unsigned axis = space.size() - dims.size() + i;
      exprs.push_back(dim == space[axis] ? getAffineDimExpr(axis, context) : getAffineConstantExpr(0, context));
    }
    return AffineMap::get(space.size(), 0, exprs, context);
  }

  void makeScalar(OpBuilder &b, Operation *op, IRMapping &scalars) {
    SmallVector<Value> values;
    for (Value operand : op->getOperands())
      values.push_back(scalars.lookup(operand));
    scalars.map(op->getResult(0), kernel::ScalarOp::create(b, op->getLoc(), tensorOf(op->getResult(0)).getElementType(),
                                                           findOp(op)->mnemonic, inherentAttrs(op), values));
  }

  KernelParts kernelParts(Operation *root) {
    OperandBuilder operands{builder, map, [this](Location loc, ArrayRef<DimExpr> dims) {
                              return destination(loc, tensorType(dims, builder.getF32Type()));
                            },
                            int8Width};
    return makeKernelParts(root, operands);
  }

  /// Whether `result` may be written over `source`, of which the element at the same position is read just before: a
  /// residual sum needs no memory of its own. Nobody else must read `source`.
  static bool mayTakePlaceOf(Value source, Value result) {
    return source.getDefiningOp<GroupOp>() && source.hasOneUse() && source.getType() == result.getType();
  }

  /// The kernel op of a root, with its bias and the elementwise ops of the group as epilogue.
  ValueRange makeKernel(OpBuilder &inner, Operation *root, const KernelParts &parts, GroupOp group, ArrayRef<Value> outs) {
    Block &old = group.getBody().front();
    SmallVector<DimExpr> space = dimsOf(root->getResult(0));
    SmallVector<Value> extras, sources; // sources: the values of the group that extras stand for
    SmallVector<AffineMap> maps;
    auto add = [&](Value source) {
      sources.push_back(source);
      extras.push_back(map.lookup(source));
      maps.push_back(broadcastMap(dimsOf(source), space));
    };
    SmallVector<StringRef> first; // scalar ops of the kernel's own extras
    for (auto [own, ownMap, name] : {std::tuple(parts.scale, parts.scaleMap, "mul"), {parts.bias, parts.biasMap, "add"}})
      if (own) {
        first.push_back(name);
        sources.push_back({});
        extras.push_back(map.lookup(own));
        maps.push_back(ownMap ? ownMap : broadcastMap(dimsOf(own), space));
      }
    for (const auto &[tensor, where] : parts.extras) {
      sources.push_back({});
      extras.push_back(tensor);
      maps.push_back(where);
    }
    auto isEpilogue = [&](Operation &op) { return &op != root && !joinsMatMul(&op, root); };
    Value yielded = old.getTerminator()->getOperand(0);
    SmallVector<int64_t> order; // of the axes of the result in the tensor that is written
    if (Operation *last = yielded.getDefiningOp(); joinsMatMul(last, root)) {
      SmallVector<int64_t> axes = transposeOrder(last);
      order.resize(axes.size());
      for (auto [i, axis] : llvm::enumerate(axes))
        order[axis] = i;
      yielded = last->getOperand(0);
    }
    for (Operation &op : old.without_terminator())
      if (isEpilogue(op))
        for (Value operand : op.getOperands())
          if (operand.getParentBlock() != &old && !llvm::is_contained(sources, operand))
            add(operand);
    Value out = outs.front();
    if (order.empty() && isa<MatMulOp, GemmOp, ConvOp>(root))
      for (auto [source, extra, map] : llvm::zip_equal(sources, extras, maps))
        if (source && map.isIdentity() && mayTakePlaceOf(source, group.getResult(0)))
          out = extra;
    Operation *op = parts.create(inner, extras, out, maps, order);
    Block &block = op->getRegion(0).emplaceBlock();
    Type element = tensorOf(root->getResult(0)).getElementType();
    block.addArgument(parts.sum ? parts.sum : element, op->getLoc());
    for (Value extra : extras)
      block.addArgument(cast<RankedTensorType>(extra.getType()).getElementType(), op->getLoc());
    OpBuilder b = OpBuilder::atBlockBegin(&block);
    Value value = block.getArgument(0);
    IRMapping scalars;
    for (auto [i, source] : llvm::enumerate(sources))
      if (source)
        scalars.map(source, block.getArgument(i + 1));
      else if (i < first.size())
        value = kernel::ScalarOp::create(b, root->getLoc(), element, first[i], b.getDictionaryAttr({}),
                                         ValueRange{value, block.getArgument(i + 1)});
    if (parts.finish)
      value = parts.finish(b, value, block.getArguments().slice(1, parts.extras.size()));
    scalars.map(root->getResult(0), value);
    for (Operation &op : old.without_terminator())
      if (isEpilogue(op))
        makeScalar(b, &op, scalars);
    kernel::ResultOp::create(b, op->getLoc(), scalars.lookup(yielded));
    return op->getResults();
  }

  ValueRange makeLoop(OpBuilder &inner, GroupOp group, ArrayRef<Value> written, ArrayRef<Value> outs) {
    Block &old = group.getBody().front();
    SmallVector<Value> inputs;
    for (Operation &op : old.without_terminator())
      for (Value operand : op.getOperands())
        if (operand.getParentBlock() != &old && !llvm::is_contained(inputs, operand))
          inputs.push_back(operand);
    SmallVector<DimExpr> space = dimsOf(written.front());
    MLIRContext *context = group.getContext();
    SmallVector<AffineMap> maps;
    for (Value input : inputs)
      maps.push_back(broadcastMap(dimsOf(input), space));
    maps.append(outs.size(), AffineMap::getMultiDimIdentityMap(space.size(), context));
    SmallVector<utils::IteratorType> iterators(space.size(), utils::IteratorType::parallel);
    SmallVector<Value> operands;
    SmallVector<Type> types;
    for (Value input : inputs)
      operands.push_back(map.lookup(input));
    for (Value out : outs)
      types.push_back(out.getType());
    auto loop = linalg::GenericOp::create(inner, group.getLoc(), types, operands, outs, maps, iterators,
                                          [&](OpBuilder &b, Location, ValueRange args) {
                                            IRMapping scalars;
                                            for (auto [input, arg] : llvm::zip(inputs, args))
                                              scalars.map(input, arg);
                                            for (Operation &op : old.without_terminator())
                                              makeScalar(b, &op, scalars);
                                            SmallVector<Value> yielded;
                                            for (Value value : written)
                                              yielded.push_back(scalars.lookup(value));
                                            linalg::YieldOp::create(b, group.getLoc(), yielded);
                                          });
    return loop.getResults();
  }

  func::FuncOp source, target;
  OpBuilder builder;
  int64_t int8Width;
  IRMapping map;
};

struct ConvertMoptToKernel : impl::ConvertMoptToKernelBase<ConvertMoptToKernel> {
  using ConvertMoptToKernelBase::ConvertMoptToKernelBase;
  void runOnOperation() override {
    for (func::FuncOp function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!llvm::hasSingleElement(function.getBody()) ||
          !llvm::all_of(function.getFunctionType().getInputs(), llvm::IsaPred<RankedTensorType>) ||
          !llvm::all_of(function.getFunctionType().getResults(), llvm::IsaPred<RankedTensorType>)) {
        function.emitError("MOPT-C003: a model function has one block and takes and returns ranked tensors");
        return signalPassFailure();
      }
      FailureOr<func::FuncOp> converted = Converter(function, int8Width).run();
      if (failed(converted))
        return signalPassFailure();
      function.erase();
    }
  }
};

struct GroupCopies : impl::GroupCopiesBase<GroupCopies> {
  /// Sizes of a buffer; null where they have no name.
  SmallVector<DimExpr> dimsOfBuffer(Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    if (auto argument = dyn_cast<BlockArgument>(memref)) {
      SmallVector<DimExpr> dims;
      if (auto list = getOperation().getArgAttrOfType<DimsAttr>(argument.getArgNumber(), "mopt.dims"))
        for (DimAttr dim : list.getDims())
          dims.push_back(DimExpr(dim));
      for (size_t d = dims.size(); d < static_cast<size_t>(type.getRank()); ++d)
        dims.push_back(type.isDynamicDim(d) ? DimExpr() : DimExpr::constant(&getContext(), type.getDimSize(d)));
      return dims;
    }
    SmallVector<Value> sizes;
    if (auto alloc = memref.getDefiningOp<memref::AllocOp>())
      sizes = alloc.getDynamicSizes();
    else if (auto view = memref.getDefiningOp<kernel::ViewOp>())
      sizes = view.getSizes();
    SmallVector<DimExpr> dims;
    unsigned next = 0;
    for (int64_t size : type.getShape())
      dims.push_back(!ShapedType::isDynamic(size) ? DimExpr::constant(&getContext(), size)
                     : next < sizes.size()        ? kernel::sizeOf(sizes[next++])
                                                  : DimExpr());
    return dims;
  }

  void makeCopy(OpBuilder &builder, memref::CopyOp copy) {
    Type element = cast<MemRefType>(copy.getSource().getType()).getElementType();
    DimExpr count = DimExpr::constant(&getContext(), 1), zero = DimExpr::constant(&getContext(), 0), one = count;
    SmallVector<DimExpr> dims = dimsOfBuffer(copy.getSource());
    for (DimExpr dim : dims)
      count = count * dim;
    // Sizes with two names are held against each other by the run.
    if (!count || dims != dimsOfBuffer(copy.getTarget()) || !llvm::is_contained({8, 16, 32, 64}, storedBits(element))) {
      kernel::ReferenceOp::create(builder, copy.getLoc(), TypeRange{}, "identity", builder.getDictionaryAttr({}),
                                  ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1}, copy.getSource(), copy.getTarget());
      return;
    }
    // All elements in a row.
    Attribute place = DimsAttr::get(&getContext(), {zero.attr(), one.attr()});
    Attribute part = builder.getArrayAttr({DimsAttr::get(&getContext(), {count.attr()}), place, place});
    auto move = kernel::MoveOp::create(builder, copy.getLoc(), TypeRange{}, copy.getSource(), ValueRange{}, copy.getTarget(),
                                       builder.getAffineMapArrayAttr({}), "identity", builder.getArrayAttr(part));
    Block &block = move.getEpilogue().emplaceBlock();
    OpBuilder inner = OpBuilder::atBlockBegin(&block);
    kernel::ResultOp::create(inner, copy.getLoc(), block.addArgument(element, copy.getLoc()));
  }

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    SmallVector<memref::CopyOp> copies;
    for (auto copy : getOperation().getBody().front().getOps<memref::CopyOp>())
      copies.push_back(copy);
    for (memref::CopyOp copy : copies) {
      OpBuilder builder(copy);
      if (copy.getSource() != copy.getTarget()) {
        auto group = GroupOp::create(builder, copy.getLoc(), TypeRange{}, builder.getStringAttr("movement"));
        OpBuilder inner = OpBuilder::atBlockBegin(&group.getBody().emplaceBlock());
        makeCopy(inner, copy);
        YieldOp::create(inner, copy.getLoc(), ValueRange{});
      }
      copy.erase();
    }
  }
};

} // namespace
} // namespace mopt
