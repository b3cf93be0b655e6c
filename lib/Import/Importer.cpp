//===- Importer.cpp - a model to a module -------------------------------------------------------------------------===//
#include "GraphBuilder.h"
#include "Recognize.h"
#include "WireScanner.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "mlir/IR/Verifier.h"
#include "mopt/Import/Import.h"
#include "mopt/Support/Checked.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Path.h"

namespace mopt {

void loadImportDialects(MLIRContext *context) { context->loadDialect<MoptDialect, func::FuncDialect>(); }

bool parseShapeOption(StringRef text, ImportOptions &options) {
  auto [name, list] = text.rsplit('=');
  if (name.empty() || (list.empty() && !text.ends_with("=")))
    return false;
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> parts;
  if (!list.empty())
    list.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part == "?")
      sizes.push_back(ShapedType::kDynamic);
    else if (part.getAsInteger(10, size) || size < 0)
      return false;
    else
      sizes.push_back(size);
  }
  options.shapes[name.str()] = sizes;
  return true;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static std::string identifier(StringRef text) {
  std::string out;
  for (char c : text)
    out += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (out.empty() || llvm::isDigit(out.front()))
    out.insert(0, "_");
  return out;
}

static StringRef kindOf(const pb::TypeProto &type) {
  switch (type.value_case()) {
  case pb::TypeProto::kSequenceType:
    return "a sequence";
  case pb::TypeProto::kMapType:
    return "a map";
  case pb::TypeProto::kOptionalType:
    return "an optional value";
  case pb::TypeProto::kSparseTensorType:
    return "a sparse tensor";
  default:
    return "of no known type";
  }
}

static std::string elementName(int32_t type) {
  if (!pb::TensorProto_DataType_IsValid(type))
    return std::to_string(type);
  return StringRef(pb::TensorProto_DataType_Name(static_cast<pb::TensorProto_DataType>(type))).lower();
}

/// Type of a graph input: names of sizes become symbols, an axis without a name (or with "?", which some exporters
/// write for every unknown size) gets one of its own.
FailureOr<Type> GraphBuilder::inputType(const pb::ValueInfoProto &info) {
  Location location = NameLoc::get(StringAttr::get(context, info.name()));
  std::string name = quote(info.name());
  const pb::TypeProto &type = info.type();
  if (!type.has_tensor_type())
    return fail(location, Diag::BadInput, "input " + name + " is " + kindOf(type) + ", expected a tensor");
  const pb::TypeProto::Tensor &tensor = type.tensor_type();
  Type element = elementType(context, tensor.elem_type());
  if (!element)
    return fail(location, Diag::BadInput,
                "input " + name + " has elements of type " + elementName(tensor.elem_type()) +
                    ", expected numbers or booleans");
  auto option = options.shapes.find(info.name());
  const SmallVector<int64_t> *bound = option == options.shapes.end() ? nullptr : &option->second;
  if (!tensor.has_shape() && !bound)
    return fail(location, Diag::UnknownRank, "input " + name + " has no known rank");
  int64_t rank = tensor.has_shape() ? tensor.shape().dim_size() : static_cast<int64_t>(bound->size());
  if (rank > options.limits.rank)
    return fail(location, Diag::BadDims,
                "input " + name + " has rank " + Twine(rank) + ", limit " + Twine(options.limits.rank));
  if (bound && static_cast<int64_t>(bound->size()) != rank)
    return fail(location, Diag::BadShapeOption,
                "--shape gives " + Twine(bound->size()) + " sizes for input " + name + " of rank " + Twine(rank));
  SmallVector<DimExpr> dims;
  std::optional<int64_t> elements = 1;
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t given = bound ? (*bound)[axis] : ShapedType::kDynamic;
    int64_t size = ShapedType::kDynamic;
    std::string symbol;
    if (tensor.has_shape()) {
      const auto &dim = tensor.shape().dim(static_cast<int>(axis));
      if (dim.has_dim_value() && dim.dim_value() != -1)
        size = dim.dim_value();
      else if (dim.has_dim_param() && dim.dim_param() != "?")
        symbol = dim.dim_param();
      if (size < 0 && size != ShapedType::kDynamic)
        return fail(location, Diag::BadDims, "input " + name + " has the negative size " + Twine(size));
    }
    if (size != ShapedType::kDynamic && given != ShapedType::kDynamic && given != size)
      return fail(location, Diag::BadShapeOption,
                  "--shape gives size " + Twine(given) + " for axis " + Twine(axis) + " of input " + name + ", which has " +
                      Twine(size));
    if (auto value = boundSymbols.find(symbol); !symbol.empty() && value != boundSymbols.end())
      size = value->second;
    if (given != ShapedType::kDynamic)
      size = given;
    if (size != ShapedType::kDynamic) {
      if (size > options.limits.dim)
        return fail(location, Diag::BadDims,
                    "input " + name + " has size " + Twine(size) + ", limit " + Twine(options.limits.dim));
      elements = elements ? checked::mul(*elements, size) : std::nullopt;
      if (!elements || *elements > options.limits.elements)
        return fail(location, Diag::BadDims,
                    "shape too large: input " + name + " has more than " + Twine(options.limits.elements) + " elements");
      dims.push_back(DimExpr::constant(context, size));
      continue;
    }
    if (symbol.empty()) {
      std::string base = identifier(info.name()) + "_" + std::to_string(axis);
      symbol = base;
      for (unsigned i = 2; inputSymbols.contains(symbol); ++i)
        symbol = base + "_" + std::to_string(i);
      inputSymbols.insert(symbol);
    }
    shapeContext.reserveName(symbol);
    dims.push_back(DimExpr::symbol(context, symbol));
  }
  return Type(tensorType(dims, element));
}

/// Sizes that --shape gives for symbols, wherever they stand.
LogicalResult GraphBuilder::bindSymbols(const pb::GraphProto &graph, const llvm::StringSet<> &inputs) {
  for (const auto &[name, sizes] : options.shapes)
    if (!inputs.contains(name))
      return fail(UnknownLoc::get(context), Diag::BadShapeOption,
                  "--shape names " + quote(name) + ", which is not an input");
  for (const pb::ValueInfoProto &info : graph.input()) {
    auto option = options.shapes.find(info.name());
    for (int axis = 0; axis < info.type().tensor_type().shape().dim_size(); ++axis) {
      const auto &dim = info.type().tensor_type().shape().dim(axis);
      if (!dim.has_dim_param() || dim.dim_param().empty() || dim.dim_param() == "?")
        continue;
      inputSymbols.insert(dim.dim_param());
      if (option == options.shapes.end() || static_cast<size_t>(axis) >= option->second.size() ||
          option->second[axis] == ShapedType::kDynamic)
        continue;
      auto [entry, fresh] = boundSymbols.emplace(dim.dim_param(), option->second[axis]);
      if (!fresh && entry->second != option->second[axis])
        return fail(UnknownLoc::get(context), Diag::BadShapeOption,
                    "--shape gives " + Twine(entry->second) + " and " + Twine(option->second[axis]) + " for size " +
                        quote(dim.dim_param()));
    }
  }
  return success();
}

LogicalResult GraphBuilder::addInitializers(const pb::GraphProto &graph, Frame &frame) {
  bool outer = !frame.parent;
  auto add = [&](StringRef name, FailureOr<TypedAttr> value, Location location) {
    if (failed(value))
      return failure();
    if (!outer)
      frame.values[name] = constant(*value, location, name);
    else
      pending[name] = *value;
    return success();
  };
  for (const pb::TensorProto &tensor : graph.initializer()) {
    auto location = NameLoc::get(StringAttr::get(context, tensor.name()));
    if (outer && frame.values.count(tensor.name()))
      continue; // stays an input
    if (failed(add(tensor.name(), tensors.read(tensor, location), location)))
      return failure();
  }
  for (const pb::SparseTensorProto &tensor : graph.sparse_initializer()) {
    auto location = NameLoc::get(StringAttr::get(context, tensor.values().name()));
    if (failed(add(tensor.values().name(), tensors.readSparse(tensor, location), location)))
      return failure();
  }
  return success();
}

OwningOpRef<ModuleOp> GraphBuilder::build(const pb::ModelProto &model, const Functions &localFunctions) {
  functions = &localFunctions;
  const pb::GraphProto &graph = model.graph();
  Location location = NameLoc::get(StringAttr::get(context, graph.name().empty() ? "graph" : graph.name()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  llvm::StringSet<> initializers, inputs;
  for (const pb::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  for (const pb::SparseTensorProto &tensor : graph.sparse_initializer())
    initializers.insert(tensor.values().name());
  SmallVector<const pb::ValueInfoProto *> arguments;
  unsigned overridable = 0;
  for (const pb::ValueInfoProto &info : graph.input()) {
    bool isInitializer = initializers.contains(info.name());
    overridable += isInitializer;
    if (isInitializer && !options.overridableInputs)
      continue;
    arguments.push_back(&info);
    inputs.insert(info.name());
  }
  // Before IR version 4 every initializer had to be an input too, so there it says nothing.
  if (overridable && model.ir_version() >= 4 && !options.overridableInputs)
    warn(location, Diag::OverridableInput, Twine(overridable) + " initializers are inputs too and are taken as constants");
  if (failed(bindSymbols(graph, inputs)))
    return {};
  SmallVector<Type> types;
  for (const pb::ValueInfoProto *info : arguments) {
    FailureOr<Type> type = inputType(*info);
    if (failed(type))
      return {};
    types.push_back(*type);
  }
  builder.setInsertionPointToEnd(module->getBody());
  main = func::FuncOp::create(builder, location, "main", builder.getFunctionType(types, {}));
  Block *entry = main.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  Frame frame;
  for (auto [i, info] : llvm::enumerate(arguments)) {
    frame.values[info->name()] = entry->getArgument(i);
    main.setArgAttr(i, "mopt.name", builder.getStringAttr(info->name()));
  }
  for (const pb::OperatorSetIdProto &opset : model.opset_import())
    frame.opsets.emplace(normalDomain(opset.domain()).str(), opset.version());
  for (const pb::ValueInfoProto &info : graph.value_info())
    declared[info.name()] = &info;
  for (const pb::ValueInfoProto &info : graph.output())
    declared[info.name()] = &info;
  if (failed(addInitializers(graph, frame)) || failed(emitNodes(graph.node(), frame)))
    return {};

  SmallVector<Value> results;
  SmallVector<Attribute> names;
  for (const pb::ValueInfoProto &info : graph.output()) {
    pb::NodeProto user;
    user.add_input(info.name());
    Node probe(user, frame, NameLoc::get(StringAttr::get(context, info.name())));
    if (failed(gatherInputs(probe)))
      return {};
    if (!probe.inputs.front() || !tensorOf(probe.inputs.front())) {
      (void)fail(probe.location, Diag::BadInput, "output " + quote(info.name()) + " is not a tensor");
      return {};
    }
    results.push_back(probe.inputs.front());
    names.push_back(builder.getStringAttr(info.name()));
  }
  builder.setInsertionPointToEnd(entry);
  func::ReturnOp::create(builder, location, results);
  main.setFunctionType(builder.getFunctionType(types, ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    main.setResultAttr(i, "mopt.name", name);

  SmallVector<NamedAttribute> opsets;
  for (const auto &[domain, version] : frame.opsets)
    opsets.push_back(builder.getNamedAttr(domain.empty() ? "ai.onnx" : domain, builder.getI64IntegerAttr(version)));
  module->getOperation()->setAttr("mopt.onnx",
                                  builder.getDictionaryAttr({
                                      builder.getNamedAttr("graph", builder.getStringAttr(graph.name())),
                                      builder.getNamedAttr("ir_version", builder.getI64IntegerAttr(model.ir_version())),
                                      builder.getNamedAttr("opsets", builder.getDictionaryAttr(opsets)),
                                      builder.getNamedAttr("producer", builder.getStringAttr(model.producer_name())),
                                  }));
  if (failed(verify(*module)))
    return {};
  return module;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// `file` holds the bytes, or is null.
static OwningOpRef<ModuleOp> importBytes(ArrayRef<uint8_t> bytes, std::shared_ptr<void> keepAlive,
                                         const std::shared_ptr<MappedFile> &file, MLIRContext *context,
                                         const ImportOptions &options) {
  loadImportDialects(context);
  CodedErrors coded(context, Diag::BadType);
  std::string name = options.sourceName.empty() ? "<model>" : options.sourceName;
  Location location = FileLineColLoc::get(context, name, 0, 0);
  if (static_cast<int64_t>(bytes.size()) > options.limits.fileBytes) {
    (void)fail(location, Diag::LimitExceeded,
               "the file has " + Twine(bytes.size()) + " bytes, limit " + Twine(options.limits.fileBytes));
    return {};
  }
  auto changed = [&] {
    if (!file || !file->damaged())
      return false;
    (void)fail(location, Diag::FileChanged, "the file became shorter while it was read");
    return true;
  };
  ScanResult scan;
  ScanError error;
  bool scanned = scanModel(bytes, options.limits, scan, error, [&](uint64_t offset, uint64_t length) {
    if (file)
      file->forget(offset, length);
  });
  if (changed())
    return {};
  if (!scanned) {
    StringRef content = error.diag == Diag::NotAModel ? describeContent(bytes) : "";
    (void)fail(location, error.diag,
               content.empty() ? error.message : "not an ONNX ModelProto: the file is " + content.str());
    return {};
  }
  pb::ModelProto model;
  google::protobuf::io::ArrayInputStream stream(scan.reduced.data(), static_cast<int>(scan.reduced.size()));
  google::protobuf::io::CodedInputStream input(&stream);
  input.SetRecursionLimit(static_cast<int>(options.limits.depth) + 2);
  if (scan.reduced.size() > INT32_MAX || !model.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    (void)fail(location, Diag::NotAModel, "not an ONNX ModelProto");
    return {};
  }
  scan.reduced = std::string();
  if (scan.hasTraining)
    warn(location, Diag::IgnoredContent, "the model's training graphs are left out");

  Functions functions;
  for (const pb::FunctionProto &function : model.functions())
    if (!functions.emplace(functionKey(function.domain(), function.name(), function.overload()), &function).second) {
      (void)fail(location, Diag::DuplicateName, "function " + quote(function.name()) + " is defined twice");
      return {};
    }
  if (failed(checkModel(model, functions, options.limits, location)))
    return {};

  std::string source = freshSource(context, name);
  WeightStore &store = context->getOrLoadDialect<MoptDialect>()->getWeightStore();
  if (file)
    MappedFile::addTo(store, source, file);
  else
    store.add(source, bytes, std::move(keepAlive));
  TensorReader tensors(context, options, bytes, source);
  GraphBuilder builder(context, options, tensors);
  OwningOpRef<ModuleOp> module = builder.build(model, functions);

  // The identity of the model: of its bytes and of its external data.
  if (module) {
    constexpr size_t chunk = size_t(16) << 20;
    llvm::BLAKE3 hash;
    for (size_t at = 0; at < bytes.size(); at += chunk) {
      hash.update(bytes.slice(at, std::min(chunk, bytes.size() - at)));
      if (file)
        file->forget(at, chunk);
    }
    tensors.hashExternal([&](ArrayRef<uint8_t> part) { hash.update(part); });
    module->getOperation()->setAttr("mopt.model_hash",
                                    StringAttr::get(context, "blake3:" + llvm::toHex(hash.final<32>(), /*LowerCase=*/true)));
  }
  if (changed())
    return {};
  if (tensors.damaged()) {
    (void)fail(location, Diag::FileChanged, "an external data file became shorter while it was read");
    return {};
  }
  return module;
}

OwningOpRef<ModuleOp> importOnnx(ArrayRef<uint8_t> bytes, std::shared_ptr<void> keepAlive, MLIRContext *context,
                                 const ImportOptions &options) {
  return importBytes(bytes, std::move(keepAlive), nullptr, context, options);
}

OwningOpRef<ModuleOp> importOnnxFile(StringRef path, MLIRContext *context, const ImportOptions &options) {
  std::string reason;
  Handle handle = openFile(path, reason);
  std::shared_ptr<MappedFile> file = handle ? MappedFile::map(handle, reason) : nullptr;
  if (!file) {
    (void)fail(UnknownLoc::get(context), Diag::CannotRead, quote(path) + " cannot be read: " + reason);
    return {};
  }
  ImportOptions own = options;
  if (own.sourceName.empty())
    own.sourceName = llvm::sys::path::filename(path).str();
  if (own.folder.empty()) {
    StringRef parent = llvm::sys::path::parent_path(path);
    own.folder = parent.empty() ? "." : parent.str();
  }
  return importBytes(file->bytes(), nullptr, file, context, own);
}

} // namespace mopt
