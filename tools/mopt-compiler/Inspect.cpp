//===- Inspect.cpp - `mopt-compiler inspect` ----------------------------------------------------------------------===//
#include "Commands.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mopt/Analysis/Interpreter.h"
#include "mopt/Dialect/Kernel/Kernel.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Runtime/mopt.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string input;
  bool verify = false, json = false, manifest = false;
  int sessions = 0;
  ImportOptions import;
};

struct Port {
  std::string name, element, shape;
};

/// What a model holds, for text and for JSON.
struct Facts {
  std::string phase, hash; // phase: what follows it is still to be done
  std::vector<std::pair<std::string, llvm::json::Value>> onnx;
  std::vector<Port> inputs, outputs;
  std::set<std::string> symbols, runTime; // sizes that inputs bind, and those that a run computes
  std::map<std::string, int64_t> ops;
  int64_t parameters = 0, weightBytes = 0;
};

void noteSymbols(ArrayRef<DimExpr> dims, llvm::function_ref<void(StringRef)> note) {
  for (DimExpr dim : dims)
    if (dim)
      dim.forEachSymbol(note);
}

Port portOf(std::string name, Type type, ArrayRef<DimExpr> dims) {
  Port port;
  port.name = std::move(name);
  llvm::raw_string_ostream shape(port.shape);
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    port.element = mopt_dtype_name(static_cast<uint32_t>(onnxType(shaped.getElementType())));
    shape << "[";
    llvm::interleave(dims, shape, [&](DimExpr dim) { shape << (dim ? dim.str() : "?"); }, ",");
    shape << "]";
  } else { // text that no importer makes
    shape << type;
  }
  return port;
}

/// Sizes of an argument. Below phase grouped they stand beside its type.
SmallVector<DimExpr> argumentDims(func::FuncOp main, unsigned index) {
  SmallVector<DimExpr> dims;
  auto given = main.getArgAttrOfType<DimsAttr>(index, "mopt.dims");
  if (!given)
    return dimsOf(main.getArgumentTypes()[index]);
  for (DimAttr dim : given.getDims())
    dims.push_back(DimExpr(dim));
  return dims;
}

llvm::json::Value jsonOf(Attribute attr) {
  if (auto text = dyn_cast<StringAttr>(attr))
    return llvm::json::fixUTF8(text.getValue());
  if (auto number = dyn_cast<IntegerAttr>(attr))
    return number.getInt();
  llvm::json::Object object;
  if (auto entries = dyn_cast<DictionaryAttr>(attr))
    for (NamedAttribute entry : entries)
      object[entry.getName().str()] = jsonOf(entry.getValue());
  return object;
}

Facts factsOf(ModuleOp module, func::FuncOp main) {
  Facts facts;
  facts.phase = phases()[phaseOf(module)].name;
  if (auto hash = module->getAttrOfType<StringAttr>("mopt.model_hash"))
    facts.hash = hash.str();
  if (auto onnx = module->getAttrOfType<DictionaryAttr>("mopt.onnx"))
    for (NamedAttribute entry : onnx)
      facts.onnx.push_back({entry.getName().str(), jsonOf(entry.getValue())});
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    SmallVector<DimExpr> dims = argumentDims(main, i);
    bool isOutput = static_cast<bool>(main.getArgAttr(i, "mopt.output"));
    (isOutput ? facts.outputs : facts.inputs).push_back(portOf(inputName(main, i), main.getArgumentTypes()[i], dims));
    if (!isOutput)
      noteSymbols(dims, [&](StringRef name) { facts.symbols.insert(name.str()); });
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    facts.outputs.push_back(portOf(outputName(main, i), main.getResultTypes()[i], dimsOf(main.getResultTypes()[i])));
  module.walk([&](Operation *op) {
    if (isa<ConstantOp, kernel::WeightOp>(op)) {
      auto type = cast<ShapedType>(op->getResult(0).getType());
      facts.parameters += type.getNumElements();
      facts.weightBytes += storedBytes(type.getElementType(), type.getNumElements()).value_or(0);
    } else if (op->getName().getDialectNamespace() == "mopt" && !isa<NoneOp>(op)) {
      ++facts.ops[op->getName().stripDialect().str()];
    } else if (op->getName().getDialectNamespace() == "kernel") {
      ++facts.ops[op->getName().getStringRef().str()];
    }
    for (Type type : op->getResultTypes())
      noteSymbols(dimsOf(type), [&](StringRef name) {
        if (!facts.symbols.count(name.str()))
          facts.runTime.insert(name.str());
      });
  });
  return facts;
}

void print(const Facts &facts, bool verified) {
  for (const auto &[name, value] : facts.onnx)
    if (auto text = value.getAsString())
      llvm::outs() << llvm::format("%-12s", name.c_str()) << *text << "\n";
    else
      llvm::outs() << llvm::format("%-12s", name.c_str()) << value << "\n";
  for (auto [what, ports] : {std::pair("input", &facts.inputs), std::pair("output", &facts.outputs)})
    for (const Port &port : *ports)
      llvm::outs() << llvm::format("%-8s", what) << port.name << ": " << port.element << port.shape << "\n";
  auto list = [](StringRef title, const std::set<std::string> &names) {
    if (!names.empty())
      llvm::outs() << title << llvm::join(names, ", ") << "\n";
  };
  list("symbols     ", facts.symbols);
  list("run-time sizes ", facts.runTime);
  llvm::outs() << "parameters  " << facts.parameters << " in " << facts.weightBytes << " bytes\n";
  if (verified)
    llvm::outs() << "checks      ok: structure, operators, types and sizes; all weights can be read\n";
  llvm::outs() << "ops\n";
  SmallVector<std::pair<std::string, int64_t>> sorted(facts.ops.begin(), facts.ops.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  for (const auto &[name, count] : sorted)
    llvm::outs() << llvm::format("%8lld  ", static_cast<long long>(count)) << name << "\n";
}

void printJson(const Facts &facts, bool verified) {
  auto ports = [](const std::vector<Port> &list) {
    llvm::json::Array all;
    for (const Port &port : list)
      all.push_back(llvm::json::Object{
          {"name", llvm::json::fixUTF8(port.name)}, {"dtype", port.element}, {"shape", llvm::json::fixUTF8(port.shape)}});
    return all;
  };
  auto names = [](const std::set<std::string> &set) {
    llvm::json::Array all;
    for (const std::string &name : set)
      all.push_back(llvm::json::fixUTF8(name));
    return all;
  };
  llvm::json::Object ops, onnx;
  for (const auto &[name, count] : facts.ops)
    ops[name] = count;
  for (const auto &[name, value] : facts.onnx)
    onnx[name] = value;
  llvm::json::Object all{{"format", 1},
                         {"phase", facts.phase},
                         {"model_hash", facts.hash},
                         {"onnx", std::move(onnx)},
                         {"inputs", ports(facts.inputs)},
                         {"outputs", ports(facts.outputs)},
                         {"symbols", names(facts.symbols)},
                         {"run_time_sizes", names(facts.runTime)},
                         {"ops", std::move(ops)},
                         {"parameters", facts.parameters},
                         {"weights_bytes", facts.weightBytes}};
  if (verified)
    all["verified"] = true;
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
}

/// Every byte of every weight, once: a file that is cut or unreadable shows only now.
bool readWeights(ModuleOp module) {
  WeightStore &store = module.getContext()->getOrLoadDialect<MoptDialect>()->getWeightStore();
  uint64_t sum = 0;
  bool good = true;
  AttrTypeWalker walker;
  walker.addWalk([&](WeightAttr weight) {
    auto bytes = store.get(weight.getSource(), weight.getOffset(), weight.getBytes());
    good &= bytes.has_value();
    for (size_t at = 0; bytes && at < bytes->size(); at += 4096)
      sum += (*bytes)[at];
    if (bytes)
      store.release(*bytes);
  });
  module.walk([&](Operation *op) { walker.walk(op->getAttrDictionary()); });
  volatile uint64_t keep = sum; // the reads are the purpose
  (void)keep;
  return good && !anyMappedFileDamaged();
}

int run(const Options &options) {
  if (options.manifest || options.sessions) // both follow from code generation
    return refuse(Twine("MOPT-T008: ") + (options.manifest ? "--manifest" : "--sessions") + " is for artifacts, which '" +
                  options.input + "' is not; run `mopt compile` first, then inspect the result");
  Context context;
  OwningOpRef<ModuleOp> module = context.load(options.input, options.import);
  if (!module)
    return BadInput;
  func::FuncOp main = modelFunction(*module);
  if (!main)
    return refuse("MOPT-I032: '" + options.input + "' has no function; import the model again");
  if (options.verify && !readWeights(*module))
    return refuse("MOPT-I026: '" + options.input + "' or a file beside it became shorter while its weights were read");
  Facts facts = factsOf(*module, main);
  options.json ? printJson(facts, options.verify) : print(facts, options.verify);
  return Right;
}
} // namespace

void addInspect(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("inspect", "inputs, outputs, sizes, ops and weights of a model");
  command->add_option("model", options->input, "ONNX model or mopt module; `mopt inspect` also reads artifacts")->required();
  command->add_flag("--verify", options->verify, "read all weights too; everything else is always checked");
  command->add_flag("--json", options->json, "print everything as JSON");
  command->add_flag("--manifest", options->manifest, "of artifacts only");
  command->add_option("--sessions", options->sessions, "of artifacts only")->check(CLI::Range(1, 1000000));
  bindImportOptions(*command, options->import);
  command->callback([options, &status] { status = run(*options); });
}

} // namespace mopt::tool
