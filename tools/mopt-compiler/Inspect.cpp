//===- Inspect.cpp - `mopt-compiler inspect` ----------------------------------------------------------------------===//
#include "Commands.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string input;
  ImportOptions import;
};

void printValue(StringRef what, StringRef name, Type type) {
  llvm::outs() << llvm::format("%-8s", what.str().c_str()) << name << ": ";
  RankedTensorType tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    llvm::outs() << type << "\n";
    return;
  }
  llvm::outs() << tensor.getElementType() << "[";
  llvm::interleaveComma(dimsOf(tensor), llvm::outs(), [](DimExpr dim) {
    if (dim)
      llvm::outs() << dim.str();
    else
      llvm::outs() << "?";
  });
  llvm::outs() << "]\n";
}

int run(const Options &options) {
  Context context;
  OwningOpRef<ModuleOp> module = loadModule(options.input, context.get(), options.import);
  if (!module)
    return BadInput;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return BadInput;
  if (auto onnx = module->getOperation()->getAttrOfType<DictionaryAttr>("mopt.onnx"))
    for (NamedAttribute entry : onnx) {
      llvm::outs() << llvm::format("%-12s", entry.getName().str().c_str());
      if (auto text = dyn_cast<StringAttr>(entry.getValue()))
        llvm::outs() << text.getValue() << "\n";
      else if (auto number = dyn_cast<IntegerAttr>(entry.getValue()))
        llvm::outs() << number.getInt() << "\n";
    }
  std::set<std::string> symbols;
  auto note = [&](Type type) {
    for (DimExpr dim : dimsOf(type))
      if (dim)
        dim.forEachSymbol([&](StringRef name) { symbols.insert(name.str()); });
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto name = main.getArgAttrOfType<StringAttr>(i, "mopt.name");
    printValue("input", name ? name.getValue() : "", main.getArgumentTypes()[i]);
    note(main.getArgumentTypes()[i]);
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "mopt.name");
    printValue("output", name ? name.getValue() : "", main.getResultTypes()[i]);
  }
  std::map<std::string, int64_t> ops;
  int64_t parameters = 0, bytes = 0;
  std::set<std::string> dataDependent;
  main.walk([&](Operation *op) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      RankedTensorType type = tensorOf(constant.getResult());
      parameters += type.getNumElements();
      bytes += storedBytes(type.getElementType(), type.getNumElements()).value_or(0);
    } else if (op->getDialect() && op->getName().getDialectNamespace() == "mopt" && !isa<NoneOp>(op)) {
      ++ops[op->getName().stripDialect().str()];
    }
    for (Type type : op->getResultTypes())
      for (DimExpr dim : dimsOf(type))
        if (dim)
          dim.forEachSymbol([&](StringRef name) {
            if (!symbols.count(name.str()))
              dataDependent.insert(name.str());
          });
  });
  auto list = [](StringRef title, const std::set<std::string> &names) {
    if (names.empty())
      return;
    llvm::outs() << title << llvm::join(names, ", ") << "\n";
  };
  list("symbols     ", symbols);
  list("run-time sizes ", dataDependent);
  llvm::outs() << "parameters  " << parameters << " in " << bytes << " bytes\nops\n";
  SmallVector<std::pair<std::string, int64_t>> sorted(ops.begin(), ops.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  for (const auto &[name, count] : sorted)
    llvm::outs() << llvm::format("%8lld  ", static_cast<long long>(count)) << name << "\n";
  return Right;
}
} // namespace

void addInspect(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("inspect", "inputs, outputs, sizes, ops and weights of a model");
  command->add_option("model", options->input, "ONNX model or mopt module")->required();
  bindImportOptions(*command, options->import);
  command->callback([options, &status] { status = run(*options); });
}

} // namespace mopt::tool
