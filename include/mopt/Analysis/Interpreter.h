//===- Interpreter.h - runs ops of the mopt dialect with their reference functions --------------------------------===//
//
// The oracle of every pass, and what folds constants. Slow and exact: one function call an op, sizes from the shape rules
// applied to the operands' real sizes and values.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_ANALYSIS_INTERPRETER_H
#define MOPT_ANALYSIS_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "llvm/ADT/StringMap.h"
#include <chrono>
#include <map>
#include <memory>

namespace mopt {

/// A tensor with its elements: row-major, little endian, packed as ONNX packs them. Copies share the elements.
struct TensorData {
  int32_t dtype = 0; // enum mopt_dtype; MOPT_UNDEFINED for an operand or result that is left out
  SmallVector<int64_t> dims;
  ArrayRef<uint8_t> bytes;
  std::shared_ptr<const void> owner; // null: the elements lie in the weight store or belong to the caller

  bool isAbsent() const { return dtype == 0; }
  int64_t numElements() const;
  /// The tensor's type, sizes as numbers. Null for an element type that has none in MLIR.
  RankedTensorType type(MLIRContext *context) const;
  /// Bits of one element of a type as stored, 0 for unknown types.
  static int64_t bits(int32_t dtype);
  /// Bytes of a tensor; nothing for negative sizes, unknown types and on overflow.
  static std::optional<int64_t> byteSize(int32_t dtype, ArrayRef<int64_t> dims);
  static TensorData own(int32_t dtype, ArrayRef<int64_t> dims, std::vector<uint8_t> bytes);
};

struct InterpreterOptions {
  int64_t maxLiveBytes = int64_t(32) << 30; // of all results that are alive, constants not counted
  double seconds = 0;                       // 0: no limit
  bool silent = false;                      // failure is an answer: no diagnostics
};

class Interpreter {
public:
  using Tensors = SmallVector<TensorData>;
  /// Called with each op of a function and its results, before dead ones are freed. Failure ends the evaluation.
  using Callback = llvm::function_ref<LogicalResult(Operation *, ArrayRef<TensorData>)>;

  explicit Interpreter(MLIRContext *context, InterpreterOptions options = {});

  /// Results of one op for these operands (absent ones for operands of type `none`).
  FailureOr<Tensors> evaluateOp(Operation *op, ArrayRef<TensorData> operands);
  /// Result types of an op for these operands, all sizes numbers; `none` where a result is left out.
  FailureOr<SmallVector<Type>> resultTypes(Operation *op, ArrayRef<TensorData> operands);
  /// Elements of a `mopt.constant`.
  FailureOr<TensorData> constant(Operation *op);

  /// Outputs of a function for inputs in the order of its arguments. Checks that all values of one symbol are equal, and
  /// sizes against the types written down.
  FailureOr<Tensors> evaluate(func::FuncOp func, ArrayRef<TensorData> inputs, Callback callback = {});
  /// The same with inputs by name; unknown names are an error.
  FailureOr<Tensors> evaluate(func::FuncOp func, const std::map<std::string, TensorData> &inputs, Callback callback = {});

  /// What went wrong last, also when silent.
  StringRef lastError() const { return error; }
  int64_t liveBytes() const { return *live; }

private:
  LogicalResult fail(Operation *op, StringRef code, const Twine &message);
  std::optional<TensorData> allocate(RankedTensorType type);
  LogicalResult run(Operation *op, ArrayRef<TensorData> operands, ArrayRef<TensorData> results);
  LogicalResult evaluateBlock(Block &block, Tensors &yielded, Callback callback);
  LogicalResult bindSizes(Operation *op, Type type, const TensorData &tensor, StringRef what);
  bool outOfTime() const;

  MLIRContext *context;
  InterpreterOptions options;
  std::chrono::steady_clock::time_point start;
  std::shared_ptr<int64_t> live;
  llvm::DenseMap<Value, TensorData> values;
  llvm::DenseMap<Value, unsigned> usesLeft;
  llvm::StringMap<int64_t> symbols;
  std::string error;
};

/// Names of a function's inputs and outputs as in the ONNX model.
std::string inputName(func::FuncOp func, unsigned index);
std::string outputName(func::FuncOp func, unsigned index);
/// The model function of a module, null when there is none.
func::FuncOp modelFunction(ModuleOp module);
/// Units of work of an op's reference function when result 0 has these sizes (the record's `units`).
int64_t workUnits(Operation *op, ArrayRef<int64_t> dims);

} // namespace mopt
#endif
