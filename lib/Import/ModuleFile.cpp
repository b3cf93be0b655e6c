//===- ModuleFile.cpp - modules as text with their weights beside -------------------------------------------------===//
#include "Files.h"
#include "Output.h"
#include "Recognize.h"
#include "Tensors.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Parser/Parser.h"
#include "mopt/Import/Import.h"
#include "llvm/Support/Path.h"
#include <set>

namespace mopt {
namespace {

constexpr uint64_t weightAlignment = 64; // a cache line, so that kernels may read the file as it is mapped

/// Rewrites handles of every attribute of every op.
void replaceWeights(ModuleOp module, llvm::function_ref<WeightAttr(WeightAttr)> replace) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](WeightAttr weight) -> std::optional<Attribute> { return replace(weight); });
  module.walk([&](Operation *op) { replacer.replaceElementsIn(op); });
}

} // namespace

LogicalResult saveModule(ModuleOp module, StringRef path, llvm::function_ref<LogicalResult()> beforeCommit) {
  MLIRContext *context = module.getContext();
  WeightStore &store = context->getOrLoadDialect<MoptDialect>()->getWeightStore();
  SmallString<128> weightsPath(path);
  llvm::sys::path::replace_extension(weightsPath, "weights");
  if (failed(OutputStream::checkBeside(path, weightsPath, module.getLoc())))
    return failure();
  StringAttr source = StringAttr::get(context, llvm::sys::path::filename(weightsPath));
  OutputStream text(path, module.getLoc()), weights(weightsPath, module.getLoc());
  if (failed(text.opened()) || failed(weights.opened()))
    return failure();
  OwningOpRef<ModuleOp> copy = module.clone();
  std::map<std::tuple<StringRef, int64_t, int64_t>, int64_t> places;
  uint64_t end = 0;
  bool lost = false;
  replaceWeights(*copy, [&](WeightAttr weight) {
    auto key = std::make_tuple(weight.getSource().getValue(), weight.getOffset(), weight.getBytes());
    auto [place, fresh] = places.emplace(key, 0);
    if (fresh) {
      auto bytes = store.get(weight.getSource(), weight.getOffset(), weight.getBytes());
      if (!bytes) {
        lost = true;
        return weight;
      }
      uint64_t start = (end + weightAlignment - 1) / weightAlignment * weightAlignment;
      weights.write_zeros(static_cast<unsigned>(start - end));
      weights.writeWeight(*bytes, store);
      place->second = static_cast<int64_t>(start);
      end = start + bytes->size();
    }
    return WeightAttr::get(context, source, place->second, weight.getBytes(), weight.getType());
  });
  if (lost)
    return fail(module.getLoc(), Diag::BadModuleFile, "the bytes of a weight are not at hand");
  // Locations carry the names of ONNX nodes.
  copy->print(text, OpPrintingFlags().enableDebugInfo(/*enable=*/true, /*prettyForm=*/false));
  if (anyMappedFileDamaged())
    return fail(module.getLoc(), Diag::FileChanged, "the model became shorter while its weights were copied");
  if (failed(text.finish()) || failed(weights.finish()) || (beforeCommit && failed(beforeCommit())))
    return failure();
  return success(succeeded(weights.commit()) && succeeded(text.commit()));
}

FileKind fileKind(StringRef path) {
  // Whoever takes only ONNX models from strangers relies on the name: MLIR's readers are not made for hostile input.
  if (path.ends_with(".onnx"))
    return FileKind::onnx;
  std::string reason;
  Handle handle = openFile(path, reason);
  std::shared_ptr<MappedFile> file = handle ? MappedFile::map(handle, reason) : nullptr;
  bool named = path.ends_with(".mlir") || path.ends_with(".mlirbc");
  if (!file || file->bytes().empty())
    return named ? FileKind::module : FileKind::onnx;
  constexpr uint8_t irVersion = 1 << 3; // the field that ONNX models start with; MLIR never does
  return isModule(file->bytes()) || (named && file->bytes().front() != irVersion) ? FileKind::module : FileKind::onnx;
}

OwningOpRef<ModuleOp> loadModule(StringRef path, MLIRContext *context, const ImportOptions &options) {
  loadImportDialects(context);
  if (fileKind(path) == FileKind::onnx)
    return importOnnxFile(path, context, options);
  CodedErrors coded(context, Diag::BadModuleFile);
  Location location = FileLineColLoc::get(context, path, 0, 0);
  std::string reason;
  if (!openFile(path, reason)) {
    (void)fail(UnknownLoc::get(context), Diag::CannotRead, quote(path) + " cannot be read: " + reason);
    return {};
  }
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, ParserConfig(context));
  if (!module)
    return {};
  WeightStore &store = context->getOrLoadDialect<MoptDialect>()->getWeightStore();
  StringRef parent = llvm::sys::path::parent_path(path);
  Handle folder = openFolder(parent, reason);
  std::map<std::string, std::string> sources; // as written -> in the store, null when it cannot be used
  bool bad = false;
  replaceWeights(*module, [&](WeightAttr weight) {
    std::string name = weight.getSource().str();
    auto known = sources.find(name);
    if (known == sources.end()) {
      Handle file = openBeneath(folder, name, reason);
      std::shared_ptr<MappedFile> mapped = file ? MappedFile::map(file, reason) : nullptr;
      known = sources.emplace(name, "").first;
      if (mapped) {
        known->second = freshSource(context, name);
        MappedFile::addTo(store, known->second, mapped);
      } else {
        bad = true;
        (void)fail(location, Diag::BadModuleFile, "weight file " + quote(name) + " cannot be used: " + reason);
      }
    }
    if (known->second.empty())
      return weight;
    if (!store.get(known->second, weight.getOffset(), weight.getBytes())) {
      bad = true;
      (void)fail(location, Diag::BadModuleFile,
                 "weight file " + quote(name) + " has no bytes [" + Twine(weight.getOffset()) + ", +" +
                     Twine(weight.getBytes()) + ")");
    }
    return WeightAttr::get(context, StringAttr::get(context, known->second), weight.getOffset(), weight.getBytes(),
                           weight.getType());
  });
  return bad ? OwningOpRef<ModuleOp>() : std::move(module);
}

} // namespace mopt
