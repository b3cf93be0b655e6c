//===- OpTable.h - the op records as data -------------------------------------------------------------------------===//
//
// What is generic over ops reads this table: importer, exporter, interpreter, code generation, coverage.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_OPTABLE_H
#define MOPT_DIALECT_MOPT_OPTABLE_H

#include "mlir/IR/Operation.h"
#include "mopt/Reference/Reference.h"
#include "mopt/Support/LLVM.h"

namespace mopt {

enum class OpKind { elementwise, reference, view, structure };
enum class UnitKind { serial, elements, rows, planes, outer, slices, before_axis };
enum class AttrKind { Int, Float, Ints, Floats, Choice, String, Strings };

/// An operand or a result.
struct ValueRow {
  const char *name = nullptr;
  bool optional = false, variadic = false;
};
/// An attribute; its position is its slot (Reference.h).
struct AttrRow {
  const char *name = nullptr;
  AttrKind kind = AttrKind::Int;
  bool optional = false, hasDefault = false;
  double defaultValue = 0; // of a choice: its position
  const char *const *choices = nullptr;
  unsigned numChoices = 0;
};
/// Versions of an ONNX operator that mean this op; fields as in OpBase.td. Lists end with a null pointer.
struct OnnxRow {
  const char *name = nullptr, *domain = nullptr;
  int since = 0, until = 0;
  const char *const *attrInputs = nullptr;
  const char *const *set = nullptr;
  const char *adapter = nullptr;
};
struct OpRow {
  const char *name, *mnemonic;
  OpKind kind;
  UnitKind units;
  const char *scalar, *index, *quantClass, *numericClass;
  const ValueRow *operands;
  unsigned numOperands;
  const ValueRow *results;
  unsigned numResults;
  const AttrRow *attrs;
  unsigned numAttrs;
  const OnnxRow *onnx;
  unsigned numOnnx;
  mopt_reference reference; // null for structure ops

  ArrayRef<ValueRow> operandRows() const { return {operands, numOperands}; }
  ArrayRef<ValueRow> resultRows() const { return {results, numResults}; }
  ArrayRef<AttrRow> attrRows() const { return {attrs, numAttrs}; }
  ArrayRef<OnnxRow> onnxRows() const { return {onnx, numOnnx}; }
};

ArrayRef<OpRow> opTable();
/// The row of "mopt.conv", null for others.
const OpRow *findOp(StringRef opName);
inline const OpRow *findOp(Operation *op) { return findOp(op->getName().getStringRef()); }
/// The row and version range that read an ONNX operator of this opset; nulls when there is none.
std::pair<const OpRow *, const OnnxRow *> findOnnx(StringRef name, StringRef domain, int64_t opset);

/// Attributes of an op as a reference function takes them. Owns the values.
class AttrValues {
public:
  explicit AttrValues(Operation *op);
  /// The same from a record and the attributes that are given.
  AttrValues(const OpRow &row, DictionaryAttr attrs);
  ArrayRef<mopt_attr> attrs() const { return values; }

private:
  void fill(const OpRow &row, llvm::function_ref<Attribute(StringRef)> get);
  std::vector<mopt_attr> values;
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<double>> floats;
  std::vector<std::string> strings;
};
/// An integer attribute of an op, or its default.
int64_t attrInt(Operation *op, StringRef name);

/// Whether operand 0 and result 0 lie as N, spatial..., C (attribute `channels_last`).
bool isChannelsLast(Operation *op);
bool isChannelsLast(const OpRow &row, DictionaryAttr attrs);
/// Where axis `axis` of N, C, spatial... is in N, spatial..., C.
constexpr int64_t channelsLastAxis(int64_t axis, int64_t rank) {
  return axis == 0 || rank < 2 ? axis : axis == 1 ? rank - 1 : axis - 1;
}
/// What belongs to the axes of N, spatial..., C in the order N, C, spatial... .
template <typename T> SmallVector<T> channelsFirst(ArrayRef<T> stored) {
  SmallVector<T> out;
  for (size_t i = 0; i < stored.size(); ++i)
    out.push_back(stored[channelsLastAxis(i, stored.size())]);
  return out;
}

} // namespace mopt
#endif
