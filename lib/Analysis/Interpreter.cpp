//===- Interpreter.cpp - runs ops of the mopt dialect with their reference functions ------------------------------===//
#include "mopt/Analysis/Interpreter.h"
#include "mlir/IR/IRMapping.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Support/Checked.h"

namespace mopt {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//
int64_t TensorData::bits(int32_t dtype) { return mopt_type_bits(dtype); }

std::optional<int64_t> TensorData::byteSize(int32_t dtype, ArrayRef<int64_t> dims) {
  int64_t width = bits(dtype);
  std::optional<int64_t> n = 1;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    n = n ? checked::mul(*n, dim) : n;
  }
  n = n && width ? checked::mul(*n, width) : std::nullopt;
  n = n ? checked::add<int64_t>(*n, 7) : n;
  return n ? std::optional<int64_t>(*n / 8) : std::nullopt;
}

int64_t TensorData::numElements() const {
  int64_t n = 1;
  for (int64_t dim : dims)
    n *= dim;
  return n;
}

RankedTensorType TensorData::type(MLIRContext *context) const {
  Type element = elementType(context, dtype);
  return element ? RankedTensorType::get(dims, element) : RankedTensorType();
}

TensorData TensorData::own(int32_t dtype, ArrayRef<int64_t> dims, std::vector<uint8_t> bytes) {
  TensorData tensor;
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  tensor.dtype = dtype;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.bytes = *owner;
  tensor.owner = owner;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//
static std::string nameOf(DictionaryAttr attrs, const Twine &fallback) {
  if (attrs)
    if (auto name = attrs.getAs<StringAttr>("mopt.name"))
      return name.str();
  return fallback.str();
}
std::string inputName(func::FuncOp func, unsigned index) {
  return nameOf(func.getArgAttrDict(index), "input" + Twine(index));
}
std::string outputName(func::FuncOp func, unsigned index) {
  return nameOf(func.getResultAttrDict(index), "output" + Twine(index));
}

func::FuncOp modelFunction(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    return main;
  auto functions = module.getOps<func::FuncOp>();
  return functions.empty() ? func::FuncOp() : *functions.begin();
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//
Interpreter::Interpreter(MLIRContext *context, InterpreterOptions options)
    : context(context), options(options), start(std::chrono::steady_clock::now()), live(std::make_shared<int64_t>(0)) {}

LogicalResult Interpreter::fail(Operation *op, StringRef code, const Twine &message) {
  error = (code + ": " + message).str();
  if (std::string node = onnxName(op->getLoc()); !node.empty())
    error += " (node '" + node + "')";
  if (!options.silent)
    op->emitError() << error;
  return failure();
}

bool Interpreter::outOfTime() const {
  return options.seconds > 0 &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options.seconds;
}

std::optional<TensorData> Interpreter::allocate(RankedTensorType type) {
  TensorData tensor;
  tensor.dtype = onnxType(type.getElementType());
  tensor.dims.assign(type.getShape().begin(), type.getShape().end());
  auto size = TensorData::byteSize(tensor.dtype, tensor.dims);
  auto total = size ? checked::add(*size, *live) : std::nullopt;
  if (!total || *total > options.maxLiveBytes)
    return std::nullopt;
  // At least one word: reference functions get a pointer for empty tensors too.
  auto *words = static_cast<uint8_t *>(calloc(*size / 8 + 1, 8));
  if (!words)
    return std::nullopt;
  *live = *total;
  tensor.owner = std::shared_ptr<const void>(words, [count = live, size = *size](const void *p) {
    *count -= size;
    free(const_cast<void *>(p));
  });
  tensor.bytes = {words, static_cast<size_t>(*size)};
  return tensor;
}

FailureOr<TensorData> Interpreter::constant(Operation *op) {
  auto constantOp = cast<ConstantOp>(op);
  auto type = cast<RankedTensorType>(constantOp.getType());
  if (!type.hasStaticShape())
    return fail(op, "MOPT-V006", "a constant has no known sizes");
  TensorData tensor;
  tensor.dtype = onnxType(type.getElementType());
  tensor.dims.assign(type.getShape().begin(), type.getShape().end());
  std::vector<uint8_t> scratch;
  auto bytes = constantBytes(constantOp.getValue(), context, scratch);
  auto size = TensorData::byteSize(tensor.dtype, tensor.dims);
  if (!bytes || !size || static_cast<int64_t>(bytes->size()) < *size)
    return fail(op, "MOPT-V005", "the bytes of a weight are not at hand");
  // Reference functions read whole elements; weights in a file lie where protobuf put them.
  bool aligned = reinterpret_cast<uintptr_t>(bytes->data()) % 16 == 0;
  if (scratch.empty() && aligned) {
    tensor.bytes = bytes->take_front(*size);
    return tensor;
  }
  if (scratch.empty())
    scratch.assign(bytes->begin(), bytes->begin() + *size);
  return TensorData::own(tensor.dtype, tensor.dims, std::move(scratch));
}

FailureOr<SmallVector<Type>> Interpreter::resultTypes(Operation *op, ArrayRef<TensorData> operands) {
  auto rule = dyn_cast<MoptOpInterface>(op);
  if (!rule)
    return fail(op, "MOPT-V001", op->getName().getStringRef() + " is no op of the mopt dialect");
  // The rule sees a copy of the op whose operands have sizes only, and values where rules may ask for them. Constants are
  // unique for ever in the context, so only small ones are made.
  constexpr int64_t maxElements = 64;
  Block scratch;
  OpBuilder builder(context);
  builder.setInsertionPointToStart(&scratch);
  IRMapping mapping;
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), operands)) {
    if (mapping.contains(value))
      continue;
    if (tensor.isAbsent()) {
      mapping.map(value, NoneOp::create(builder, op->getLoc(), builder.getNoneType(), builder.getUnitAttr()).getResult());
      continue;
    }
    RankedTensorType type = tensor.type(context);
    if (!type)
      return fail(op, "MOPT-V001", "an operand has an element type that is not evaluated");
    if (tensor.dims.size() <= 1 && tensor.numElements() <= maxElements &&
        isa<IntegerType, FloatType>(type.getElementType())) {
      TypedAttr attr = constantFromBytes(type, std::vector<uint8_t>(tensor.bytes.begin(), tensor.bytes.end()));
      mapping.map(value, ConstantOp::create(builder, op->getLoc(), type, attr).getResult());
    } else {
      mapping.map(value, scratch.addArgument(type, op->getLoc()));
    }
  }
  auto copy = cast<MoptOpInterface>(builder.clone(*op, mapping));
  ShapeContext shapes(context, /*quiet=*/options.silent);
  SmallVector<Type> types;
  if (failed(copy.inferTypes(shapes, types)))
    return fail(op, "MOPT-V006", "the sizes of " + op->getName().getStringRef() + " do not fit");
  if (types.size() != op->getNumResults())
    return fail(op, "MOPT-V006", "the shape rule gives another number of results");
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !tensor.hasStaticShape())
      return fail(op, "MOPT-V006", "a size of a result does not follow from the operands");
  return types;
}

int64_t workUnits(Operation *op, ArrayRef<int64_t> stored) {
  const OpRow *row = findOp(op);
  SmallVector<int64_t> dims = isChannelsLast(op) ? channelsFirst(stored) : SmallVector<int64_t>(stored);
  int64_t rank = dims.size(), axis = 0;
  auto product = [&](int64_t from, int64_t to) {
    int64_t n = 1;
    for (int64_t i = from; i < to; ++i)
      n *= dims[i];
    return n;
  };
  if (row->units == UnitKind::slices || row->units == UnitKind::before_axis) {
    axis = attrInt(op, "axis");
    axis += axis < 0 ? rank : 0;
    axis = std::clamp<int64_t>(axis, 0, rank);
  }
  switch (row->units) {
  case UnitKind::serial:
    return 1;
  case UnitKind::elements:
    return product(0, rank);
  case UnitKind::rows:
    return product(0, rank - 1);
  case UnitKind::planes:
    return product(0, std::min<int64_t>(rank, 2));
  case UnitKind::outer:
    return product(0, std::min<int64_t>(rank, 1));
  case UnitKind::before_axis:
    return product(0, axis);
  case UnitKind::slices:
    return product(0, axis) * product(axis + 1, rank);
  }
  return 1;
}

static mopt_tensor describe(const TensorData &tensor) {
  static uint64_t nothing[2];
  mopt_tensor t{};
  t.type = tensor.dtype;
  if (tensor.isAbsent())
    return t;
  t.data = const_cast<uint8_t *>(tensor.bytes.data());
  if (!t.data)
    t.data = nothing;
  t.rank = static_cast<int32_t>(tensor.dims.size());
  int64_t stride = 1;
  for (int32_t i = t.rank; i-- > 0;) {
    t.dims[i] = tensor.dims[i];
    t.strides[i] = stride;
    stride *= tensor.dims[i];
  }
  return t;
}

/// The same memory with its axes in the order N, C, spatial... .
static void putChannelsSecond(mopt_tensor &t) {
  SmallVector<int64_t> dims = channelsFirst(ArrayRef(t.dims, t.rank)), strides = channelsFirst(ArrayRef(t.strides, t.rank));
  llvm::copy(dims, t.dims);
  llvm::copy(strides, t.strides);
}

static const char *describeStatus(int32_t status) {
  switch (status) {
  case MOPT_STEP_INDEX:
    return "an index is outside the axis";
  case MOPT_STEP_SHAPE:
    return "a size does not fit";
  case MOPT_STEP_VALUE:
    return "the value of an operand is not allowed";
  case MOPT_STEP_TYPE:
    return "the element type is not supported";
  default:
    return "unknown status";
  }
}

LogicalResult Interpreter::run(Operation *op, ArrayRef<TensorData> operands, ArrayRef<TensorData> results) {
  const OpRow *row = findOp(op);
  AttrValues attrs(op);
  SmallVector<mopt_tensor> in, out;
  bool packed = false;
  for (const TensorData &tensor : operands)
    in.push_back(describe(tensor));
  for (const TensorData &tensor : results) {
    out.push_back(describe(tensor));
    packed |= TensorData::bits(tensor.dtype) % 8 != 0;
  }
  if (isChannelsLast(op)) {
    putChannelsSecond(in[0]);
    putChannelsSecond(out[0]);
  }
  int64_t units = workUnits(op, results.empty() ? ArrayRef<int64_t>() : results[0].dims);
  // In pieces only because a deadline cannot interrupt a function. Elements that share a byte belong to one piece.
  constexpr int64_t pieces = 64;
  int64_t piece = options.seconds > 0 && !packed ? std::max<int64_t>(1, (units + pieces - 1) / pieces) : units;
  for (int64_t begin = 0; begin < units; begin += piece) {
    mopt_fault fault{0, 0, -1, 0};
    int32_t status = row->reference(in.data(), in.size(), out.data(), out.size(), attrs.attrs().data(), begin,
                                    std::min(units, begin + piece), &fault);
    if (status != MOPT_STEP_OK)
      return fail(op, "MOPT-V002",
                  op->getName().getStringRef() + ": " + describeStatus(status) + ": operand " + Twine(fault.operand) +
                      ", got " + Twine(fault.got) + ", limit " + Twine(fault.limit));
    if (outOfTime())
      return fail(op, "MOPT-V003", "the time for the evaluation is over");
  }
  return success();
}

FailureOr<Interpreter::Tensors> Interpreter::evaluateOp(Operation *op, ArrayRef<TensorData> operands) {
  Tensors results;
  if (isa<ConstantOp>(op)) {
    auto tensor = constant(op);
    if (failed(tensor))
      return failure();
    results.push_back(*tensor);
    return results;
  }
  if (isa<NoneOp>(op)) {
    results.emplace_back();
    return results;
  }
  const OpRow *row = findOp(op);
  if (!row || !row->reference)
    return fail(op, "MOPT-V001", op->getName().getStringRef() + " has no reference function");
  FailureOr<SmallVector<Type>> types = resultTypes(op, operands);
  if (failed(types))
    return failure();
  if (row->kind == OpKind::view) {
    auto type = cast<RankedTensorType>(types->front());
    TensorData view = operands[0];
    if (type.getNumElements() != view.numElements())
      return fail(op, "MOPT-V006", "a view has another number of elements");
    view.dims.assign(type.getShape().begin(), type.getShape().end());
    results.push_back(view);
    return results;
  }
  for (Type type : *types) {
    auto tensorTy = dyn_cast<RankedTensorType>(type);
    auto tensor = tensorTy ? allocate(tensorTy) : TensorData();
    if (!tensor)
      return fail(op, "MOPT-V003", "a result is beyond the memory limit");
    results.push_back(*tensor);
  }
  if (failed(run(op, operands, results)))
    return failure();
  return results;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//
LogicalResult Interpreter::bindSizes(Operation *op, Type type, const TensorData &tensor, StringRef what) {
  auto declared = dyn_cast<RankedTensorType>(type);
  auto mismatch = [&](StringRef code) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (RankedTensorType own = tensor.isAbsent() ? RankedTensorType() : tensor.type(context)) {
      os << what << " has elements of " << own.getElementType() << " and sizes [";
      llvm::interleaveComma(tensor.dims, os);
      os << "], which do not fit " << type;
    } else {
      os << what << " has no value, expected " << type;
    }
    return fail(op, code, text);
  };
  StringRef code = isa<func::FuncOp>(op) ? "MOPT-V004" : "MOPT-V006";
  if (!declared)
    return tensor.isAbsent() && isa<NoneType>(type) ? success() : mismatch(code);
  if (onnxType(declared.getElementType()) != tensor.dtype || declared.getRank() != static_cast<int64_t>(tensor.dims.size()))
    return mismatch(code);
  auto valueOf = [&](StringRef name) -> std::optional<int64_t> {
    auto found = symbols.find(name);
    return found == symbols.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
  for (auto [dim, size] : llvm::zip_equal(dimsOf(type), tensor.dims)) {
    if (!dim)
      continue;
    if (std::optional<int64_t> value = dim.evaluate(valueOf)) {
      if (*value != size)
        return mismatch(code);
    } else if (auto name = dim.asSymbol()) {
      symbols[*name] = size;
    }
  }
  return success();
}

LogicalResult Interpreter::evaluateBlock(Block &block, Tensors &yielded, Callback callback) {
  for (Operation &op : block) {
    Tensors operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      yielded = operands;
    } else if (auto group = dyn_cast<GroupOp>(op)) {
      if (failed(evaluateBlock(group.getBody().front(), results, callback)))
        return failure();
    } else {
      FailureOr<Tensors> computed = evaluateOp(&op, operands);
      if (failed(computed))
        return failure();
      results = std::move(*computed);
    }
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      if (failed(bindSizes(&op, result.getType(), tensor, "a result")))
        return failure();
    if (callback && op.getNumResults() && failed(callback(&op, results)))
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      if (unsigned uses = std::distance(result.use_begin(), result.use_end())) {
        values[result] = tensor;
        usesLeft[result] = uses;
      }
    for (Value operand : op.getOperands())
      if (auto left = usesLeft.find(operand); left != usesLeft.end() && --left->second == 0) {
        usesLeft.erase(left);
        values.erase(operand);
      }
  }
  return success();
}

FailureOr<Interpreter::Tensors> Interpreter::evaluate(func::FuncOp func, ArrayRef<TensorData> inputs, Callback callback) {
  values.clear();
  usesLeft.clear();
  symbols.clear();
  error.clear();
  start = std::chrono::steady_clock::now();
  if (func.isExternal() || !func.getBody().hasOneBlock())
    return fail(func, "MOPT-V001", "the function has no body of one block");
  if (inputs.size() != func.getNumArguments())
    return fail(func, "MOPT-V004",
                "the model takes " + Twine(func.getNumArguments()) + " inputs, found " + Twine(inputs.size()));
  for (auto [argument, tensor] : llvm::zip_equal(func.getArguments(), inputs)) {
    if (failed(bindSizes(func, argument.getType(), tensor, "input '" + inputName(func, argument.getArgNumber()) + "'")))
      return failure();
    values[argument] = tensor;
    usesLeft[argument] = std::distance(argument.use_begin(), argument.use_end());
  }
  Tensors outputs;
  if (failed(evaluateBlock(func.getBody().front(), outputs, callback)))
    return failure();
  values.clear();
  return outputs;
}

FailureOr<Interpreter::Tensors> Interpreter::evaluate(func::FuncOp func, const std::map<std::string, TensorData> &inputs,
                                                      Callback callback) {
  Tensors ordered;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto found = inputs.find(inputName(func, i));
    if (found == inputs.end())
      return fail(func, "MOPT-V004", "input '" + inputName(func, i) + "' has no value");
    ordered.push_back(found->second);
  }
  if (inputs.size() != ordered.size())
    for (const auto &[name, tensor] : inputs) {
      bool known = false;
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        known |= inputName(func, i) == name;
      if (!known)
        return fail(func, "MOPT-V004", "the model has no input '" + name + "'");
    }
  return evaluate(func, ordered, callback);
}

} // namespace mopt
