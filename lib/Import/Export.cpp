//===- Export.cpp - a module to a model file ----------------------------------------------------------------------===//
#include "mopt/Import/Export.h"
#include "ExportOps.h"
#include "Output.h"
#include "mopt/Import/Import.h"
#include "llvm/Support/Path.h"

namespace mopt {
namespace {

constexpr int oldestOpset = 21;              // what current tools read; older forms are rewritten
constexpr uint64_t externalAlignment = 4096; // readers map the file

/// ONNX releases fix the IR version of an opset.
int64_t irVersionOf(int opset) { return opset <= 22 ? 10 : opset == 23 ? 11 : opset == 24 ? 12 : 13; }

FailureOr<int> chooseOpset(func::FuncOp main) {
  const auto &ranges = mopt_onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto range = ranges.find("");
  int newest = range == ranges.end() ? oldestOpset : range->second.second;
  std::string reason;
  Operation *against = nullptr;
  for (int opset = oldestOpset; opset <= newest; ++opset) {
    against = nullptr;
    for (Operation &op : main.getBody().front())
      if (!NodeWriter::canWrite(&op, opset, reason)) {
        against = &op;
        break;
      }
    if (!against)
      return opset;
  }
  return fail(against->getLoc(), Diag::CannotExport, against->getName().getStringRef() + " cannot be exported: " + reason);
}

uint64_t varintSize(uint64_t value) {
  uint64_t size = 1;
  for (; value >= 128; value >>= 7)
    ++size;
  return size;
}
void putVarint(llvm::raw_ostream &os, uint64_t value) {
  for (; value >= 128; value >>= 7)
    os << static_cast<char>(value | 128);
  os << static_cast<char>(value);
}
constexpr char graphTag = 7 << 3 | 2, initializerTag = 5 << 3 | 2, rawDataTag = 9 << 3 | 2;

/// An initializer without its bytes, and where they are.
struct Weight {
  std::string header;
  ArrayRef<uint8_t> bytes;
  std::vector<uint8_t> scratch;
  bool external = false;

  uint64_t size() const { return header.size() + (external ? 0 : 1 + varintSize(bytes.size()) + bytes.size()); }
};

} // namespace

LogicalResult exportOnnx(ModuleOp module, StringRef path, const ExportOptions &options) {
  Location location = module.getLoc();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock())
    return fail(location, Diag::CannotExport, "the module has no function @main of one block");
  FailureOr<int> opset = chooseOpset(main);
  if (failed(opset))
    return failure();
  pb::ModelProto model;
  model.set_ir_version(irVersionOf(*opset));
  model.set_producer_name("mopt");
  model.add_opset_import()->set_version(*opset);
  pb::GraphProto graph;
  graph.set_name("main");
  if (auto onnx = module->getAttrOfType<DictionaryAttr>("mopt.onnx"))
    if (auto name = onnx.getAs<StringAttr>("graph"); name && !name.empty())
      graph.set_name(name.getValue().str());
  NodeWriter writer(main, *opset, graph);
  if (failed(writer.write()))
    return failure();

  // Weights go from their maps to the file and are never held together.
  std::vector<Weight> weights(writer.initializers().size());
  uint64_t total = 0;
  for (auto [weight, entry] : llvm::zip(weights, writer.initializers())) {
    ConstantOp constant = entry.second;
    auto bytes = constantBytes(constant.getValue(), module.getContext(), weight.scratch);
    if (!bytes)
      return fail(constant.getLoc(), Diag::BadModuleFile, "the bytes of " + quote(entry.first) + " are not at hand");
    weight.bytes = *bytes;
    total += bytes->size();
  }
  bool external = total > static_cast<uint64_t>(std::max<int64_t>(options.singleFileBytes, 0));
  SmallString<128> dataPath(path);
  llvm::sys::path::replace_extension(dataPath, "data");
  if (external && failed(OutputStream::checkBeside(path, dataPath, location)))
    return failure();
  const WeightStore &store = module.getContext()->getOrLoadDialect<MoptDialect>()->getWeightStore();
  OutputStream file(path, location), data(dataPath, location);
  if (failed(file.opened()) || (external && failed(data.opened())))
    return failure();
  uint64_t end = 0, initializers = 0;
  for (auto [weight, entry] : llvm::zip(weights, writer.initializers())) {
    ConstantOp constant = entry.second;
    RankedTensorType type = tensorOf(constant.getResult());
    pb::TensorProto tensor;
    tensor.set_name(entry.first);
    tensor.set_data_type(onnxType(type.getElementType()));
    for (int64_t dim : type.getShape())
      tensor.add_dims(dim);
    constexpr size_t smallest = 1024; // shapes and scalars stay readable without the other file
    if (external && weight.bytes.size() > smallest) {
      uint64_t start = (end + externalAlignment - 1) / externalAlignment * externalAlignment;
      data.write_zeros(static_cast<unsigned>(start - end));
      data.writeWeight(weight.bytes, store);
      end = start + weight.bytes.size();
      weight.external = true;
      tensor.set_data_location(pb::TensorProto::EXTERNAL);
      auto add = [&](StringRef key, std::string value) {
        pb::StringStringEntryProto *pair = tensor.add_external_data();
        pair->set_key(key.str());
        pair->set_value(value);
      };
      add("location", llvm::sys::path::filename(dataPath).str());
      add("offset", std::to_string(start));
      add("length", std::to_string(weight.bytes.size()));
    }
    weight.header = tensor.SerializeAsString();
    initializers += 1 + varintSize(weight.size()) + weight.size();
  }
  std::string head = model.SerializeAsString(), body = graph.SerializeAsString();
  file << head << graphTag;
  putVarint(file, body.size() + initializers);
  file << body;
  for (Weight &weight : weights) {
    file << initializerTag;
    putVarint(file, weight.size());
    file << weight.header;
    if (weight.external)
      continue;
    file << rawDataTag;
    putVarint(file, weight.bytes.size());
    file.writeWeight(weight.bytes, store);
  }
  if (anyMappedFileDamaged())
    return fail(location, Diag::FileChanged, "the model became shorter while its weights were copied");
  if (failed(file.finish()) || (external && failed(data.commit())))
    return failure();
  return file.commit();
}

} // namespace mopt
