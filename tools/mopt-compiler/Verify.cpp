//===- Verify.cpp - `mopt verify`: does every pass keep the meaning of this model? --------------------------------===//
//
// The model runs as imported; then after every pass that changed something, by the interpreter; then as an artifact. The
// first difference is searched for among the values that both sides have: those of the same ONNX node.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Arrays.h"
#include "Commands.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mopt/Analysis/Compare.h"
#include "mopt/Pipelines/Compile.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Support/OutputFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace mopt::tool {
namespace {
struct Options {
  std::string model, inputs, passes, artifact, requantize;
  Tolerance tolerance;
  bool noArtifact = false;
  int64_t compareBytes = int64_t(8) << 30; // of the values kept to search for a node
  ImportOptions import;
};

using Named = std::vector<std::pair<std::string, TensorData>>;

/// The value of an ONNX node: of the last op that carries its name alone, by node name and result number.
using NodeKey = std::pair<std::string, unsigned>;
std::map<NodeKey, Value> nodeValues(func::FuncOp func) {
  std::map<NodeKey, Value> values;
  func.walk([&](Operation *op) {
    SmallVector<std::string> names = onnxNames(op->getLoc());
    if (names.size() == 1 && !isa<ConstantOp, NoneOp, GroupOp>(op))
      for (OpResult result : op->getResults())
        values[{names[0], result.getResultNumber()}] = result;
  });
  return values;
}

class Verifier {
public:
  Verifier(const Options &options, const std::map<std::string, TensorData> &inputs) : options(options), inputs(inputs) {}

  std::optional<Named> outputsOf(ModuleOp module) {
    func::FuncOp func = modelFunction(module);
    Interpreter interpreter(module.getContext());
    auto results = func ? interpreter.evaluate(func, inputs) : FailureOr<Interpreter::Tensors>(failure());
    if (failed(results))
      return std::nullopt;
    Named named;
    for (auto [i, tensor] : llvm::enumerate(*results))
      named.push_back({outputName(func, i), tensor});
    return named;
  }

  /// Compares with the model as imported. True when all is well; else says which output.
  bool check(const Named &outputs, std::string &report) {
    if (outputs.size() != golden.size()) {
      report = "found " + std::to_string(outputs.size()) + " outputs, expected " + std::to_string(golden.size());
      return false;
    }
    for (auto [got, expected] : llvm::zip_equal(outputs, golden))
      if (auto difference = compare(got.second, expected.second, options.tolerance)) {
        report = "output '" + expected.first + "', " + difference->text(expected.second.dims);
        return false;
      }
    return true;
  }

  /// Values of nodes while `before` runs, as long as they fit.
  std::map<NodeKey, TensorData> valuesOf(ModuleOp before) {
    std::map<NodeKey, TensorData> kept;
    func::FuncOp func = modelFunction(before);
    std::map<NodeKey, Value> wanted = nodeValues(func);
    llvm::DenseMap<Value, NodeKey> keys;
    for (const auto &[key, value] : wanted)
      keys[value] = key;
    int64_t bytes = 0;
    Interpreter interpreter(before.getContext());
    (void)interpreter.evaluate(func, inputs, [&](Operation *op, ArrayRef<TensorData> results) {
      for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results))
        if (auto key = keys.find(result);
            key != keys.end() && bytes + int64_t(tensor.bytes.size()) <= options.compareBytes) {
          bytes += tensor.bytes.size();
          kept[key->second] = tensor;
        }
      return success();
    });
    return kept;
  }

  /// The first node of `after` whose value differs from `before`.
  void findNode(ModuleOp before, ModuleOp after) {
    std::map<NodeKey, TensorData> expected = valuesOf(before);
    func::FuncOp func = modelFunction(after);
    llvm::DenseMap<Value, NodeKey> keys;
    for (const auto &[key, value] : nodeValues(func))
      keys[value] = key;
    bool found = false;
    Interpreter interpreter(after.getContext());
    (void)interpreter.evaluate(func, inputs, [&](Operation *op, ArrayRef<TensorData> results) -> LogicalResult {
      for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results)) {
        auto key = keys.find(result);
        auto value = key == keys.end() ? expected.end() : expected.find(key->second);
        // A pass may lay out a value in another order; what is wrong shows where the old order is back.
        if (value == expected.end() || value->second.dtype != tensor.dtype || value->second.dims != tensor.dims)
          continue;
        if (auto difference = compare(tensor, value->second, options.tolerance)) {
          found = true;
          llvm::errs() << "  first node that differs: '" << key->second.first << "' (" << op->getName() << "), "
                       << difference->text(tensor.dims) << "\n";
          return failure();
        }
      }
      return success();
    });
    if (!found)
      llvm::errs() << noNode;
  }

  static constexpr llvm::StringLiteral noNode =
      "  no node that both sides have differs: the difference is at the outputs or in a new op\n";
  const Options &options;
  const std::map<std::string, TensorData> &inputs;
  Named golden;
};

/// Evaluates the model after every pass that changed it, until one is at fault.
class Watch : public PassInstrumentation {
public:
  enum class Result { fine, different, failed };
  Watch(Verifier &verifier, ModuleOp module, Result &result)
      : verifier(verifier), module(module), result(result), before(module.clone()), print(module) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    // Passes that only hold others say nothing of their own.
    if (result != Result::fine || pass->getArgument().empty() || !isa<ModuleOp, func::FuncOp>(op))
      return;
    OperationFingerPrint now(module);
    if (now == print)
      return;
    print = now;
    std::optional<Named> outputs = verifier.outputsOf(module);
    std::string report;
    if (!outputs || !verifier.check(*outputs, report)) {
      llvm::errs() << "error MOPT-V007: after pass --" << pass->getArgument() << ": "
                   << (outputs ? report : "the model cannot be evaluated") << "\n";
      if (outputs)
        verifier.findNode(*before, module);
      result = outputs ? Result::different : Result::failed;
      return;
    }
    before = module.clone();
    ++checked;
    llvm::errs() << "ok    --" << pass->getArgument() << "\n";
  }
  unsigned checked = 0;

private:
  Verifier &verifier;
  ModuleOp module;
  Result &result;
  OwningOpRef<ModuleOp> before;
  OperationFingerPrint print;
};

/// Compiles to a file that has no name, so that nothing stays behind however this process ends. -1 after an error, and
/// `status` says which.
int compileUnnamed(ModuleOp module, int &status) {
  int file = openUnnamedFile();
  if (file < 0) {
    status = refuse(Twine("MOPT-I027: no temporary file can be made: ") + std::strerror(errno) + "; check TMPDIR");
    return -1;
  }
  Progress progress(/*quiet=*/false);
  CompileOptions compileOptions;
  progress.watch(compileOptions);
  compileOptions.output = "the compiled model"; // in messages
  compileOptions.descriptor = file;
  CompileReport report;
  CompileStatus done = compile(module, compileOptions, report);
  if (done == CompileStatus::ok)
    return file;
  close(file);
  llvm::errs() << "error MOPT-V008: the grouped model does not compile\n";
  status = done == CompileStatus::badInput ? BadInput : InternalFault;
  return -1;
}

/// Compares an artifact, by default one of `module`, which is in phase grouped.
int verifyArtifact(Verifier &verifier, ModuleOp module) {
  const std::string &given = verifier.options.artifact;
  OwningOpRef<ModuleOp> grouped = module.clone();
  int status = Right, file = -1;
  if (given.empty())
    file = compileUnnamed(module, status);
  else if (std::error_code error = llvm::sys::fs::openFileForRead(given, file))
    status = refuse("MOPT-R010: cannot open '" + given + "': " + error.message());
  if (file < 0)
    return status;
  llvm::scope_exit closing([&] { close(file); });
  Named outputs;
  std::string text;
  if (!runArtifact(file, verifier.inputs, outputs, nullptr, text)) {
    llvm::errs() << "error " << text << " (in the compiled model)\n";
    return given.empty() ? InternalFault : BadInput;
  }
  if (verifier.check(outputs, text)) {
    llvm::errs() << "ok    compiled model\n";
    return Right;
  }
  llvm::errs() << "error MOPT-V007: " << (given.empty() ? "below phase grouped" : "the artifact") << ": " << text << "\n";
  // Steps keep their values when asked to; the first that differs from the interpreter is at fault.
  std::map<std::string, TensorData> byNode;
  for (auto &[key, tensor] : verifier.valuesOf(*grouped))
    if (key.second == 0)
      byNode[key.first] = tensor;
  std::vector<StepValue> values;
  outputs.clear();
  bool found = false;
  if (runArtifact(file, verifier.inputs, outputs, &values, text))
    for (const StepValue &value : values) {
      // A step is named after all its nodes; its value is that of the last.
      auto expected = byNode.find(StringRef(value.nodes).rtrim('\n').rsplit('\n').second.str());
      if (expected == byNode.end())
        expected = byNode.find(StringRef(value.nodes).rtrim('\n').str());
      if (expected == byNode.end() || expected->second.dtype != value.value.dtype ||
          expected->second.dims != value.value.dims)
        continue;
      if (auto difference = compare(value.value, expected->second, verifier.options.tolerance)) {
        llvm::errs() << "  first node that differs: '" << expected->first << "', " << difference->text(value.value.dims)
                     << "\n";
        found = true;
        break;
      }
    }
  if (!found)
    llvm::errs() << Verifier::noNode;
  return GoalMissed;
}

/// Runs passes and the model after each of them. The status when it is decided: something is wrong.
std::optional<int> verifyPasses(Verifier &verifier, ModuleOp module, PassManager &passes, const Twine &what) {
  if (passes.empty())
    return std::nullopt;
  auto result = Watch::Result::fine;
  passes.addInstrumentation(std::make_unique<Watch>(verifier, module, result));
  LogicalResult ran = passes.run(module);
  if (result == Watch::Result::different)
    return GoalMissed;
  if (result == Watch::Result::fine && succeeded(ran))
    return std::nullopt;
  if (result == Watch::Result::fine)
    llvm::errs() << "error MOPT-V008: " << what << " failed\n";
  return InternalFault;
}

/// The passes of a text as mlir-opt takes it, "a,func.func(b)", also inside "builtin.module(...)".
bool parsePasses(StringRef text, PassManager &passes) {
  if (StringRef inner = text; inner.consume_front("builtin.module(") && inner.consume_back(")"))
    text = inner;
  std::string reason;
  llvm::raw_string_ostream os(reason);
  if (succeeded(parsePassPipeline(text, passes, os)))
    return true;
  StringRef lines = reason; // the text with marks below it, around the one line that says what is wrong
  size_t at = lines.find("error: ");
  (void)refuse("MOPT-T000: --passes: " + lines.drop_front(at == StringRef::npos ? 0 : at + 7).split('\n').first);
  return false;
}

int run(const Options &options) {
  Context context;
  PassManager own(context.get());
  if (!options.passes.empty()) {
    registerPasses();
    registerTransformsPasses();
    if (!parsePasses(options.passes, own))
      return BadInput;
  }
  OwningOpRef<ModuleOp> module = context.load(options.model, options.import);
  func::FuncOp func = module ? modelFunction(*module) : func::FuncOp();
  // A mode is part of what the model means, so it is set before the results that all others are held against.
  if (!func || (!options.requantize.empty() && failed(setRequantize(*module, options.requantize))))
    return BadInput;
  std::map<std::string, TensorData> inputs;
  std::string error;
  if (!readInputArrays(options.inputs, func, inputs, error))
    return refuse(error);
  Verifier verifier(options, inputs);
  std::optional<Named> golden = verifier.outputsOf(*module);
  if (!golden)
    return BadInput;
  verifier.golden = *golden;

  context.get()->disableMultithreading(); // the model is evaluated between passes
  if (!options.passes.empty())
    return verifyPasses(verifier, *module, own, "a pass of --passes").value_or(Right);
  unsigned last = *findPhase("grouped");
  for (unsigned i = phaseOf(*module) + 1; i <= last && options.artifact.empty(); ++i) {
    PassManager passes(context.get());
    phases()[i].build(passes, PhaseOptions());
    if (std::optional<int> status = verifyPasses(verifier, *module, passes, Twine("phase ") + phases()[i].name))
      return *status;
  }
  return options.noArtifact ? int(Right) : verifyArtifact(verifier, *module);
}
} // namespace

void addVerify(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("verify", "run a model after every pass and find the first that changes it");
  command->add_option("model", options->model, "ONNX model or mopt module")->required();
  command->add_option("--inputs", options->inputs, "arrays by input name (.npz)")->required();
  command->add_option("--rtol", options->tolerance.rtol,
                      "allowed error relative to the value; default by type, float32 1e-3");
  command->add_option("--atol", options->tolerance.atol,
                      "allowed error relative to the largest value of the tensor; default by type, float32 1e-4");
  auto *noArtifact =
      command->add_flag("--no-artifact", options->noArtifact, "stop at phase grouped: do not compile and run");
  command
      ->add_option("--artifact", options->artifact,
                   "compare this artifact with the model, instead of the passes and an artifact made for it")
      ->excludes(noArtifact);
  command
      ->add_option("--passes", options->passes,
                   "verify these passes instead of the phases, as mlir-opt takes them: mopt-fold-constants,cse")
      ->excludes("--artifact");
  bindRequantizeOption(*command, options->requantize);
  bindImportOptions(*command, options->import);
  command->footer(
      "Exit status: 0 the outputs are kept, 3 they are not (the pass and the first ONNX node that differs are named), 2 the "
      "model or the inputs are at fault.\nExamples: mopt verify model.onnx --inputs sample.npz\n          "
      "mopt verify model.onnx --inputs sample.npz --artifact model.so");
  command->callback([options, &status] { status = run(*options); });
}

} // namespace mopt::tool
