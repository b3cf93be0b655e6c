//===- ExportOps.h - ops to nodes ---------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_EXPORTOPS_H
#define MOPT_LIB_IMPORT_EXPORTOPS_H

#include "Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace mopt {
namespace pb = mopt_onnx;

/// Turns the ops of a function into the nodes of a graph of one opset.
class NodeWriter {
public:
  NodeWriter(func::FuncOp main, int opset, pb::GraphProto &graph) : main(main), opset(opset), graph(graph) {}

  /// Whether `op` can be said in `opset`; `reason` tells why not.
  static bool canWrite(Operation *op, int opset, std::string &reason);

  LogicalResult write();
  /// Constants that the nodes use, in the order of their use, with their names.
  ArrayRef<std::pair<std::string, ConstantOp>> initializers() const { return used; }

  // For ops that become several nodes
  std::string nameOf(Value value);
  std::string fresh(StringRef base);
  pb::NodeProto &node(Operation *op, StringRef type, ArrayRef<std::string> inputs, ArrayRef<std::string> outputs);
  std::string intTensor(StringRef base, ArrayRef<int64_t> values);
  std::string outputOf(Operation *op, unsigned i = 0);
  int version() const { return opset; }
  pb::GraphProto &target() { return graph; }
  /// The node of the op's record: positions, attributes of the same name.
  LogicalResult writeByRecord(Operation *op, const OnnxRow &range);

private:
  LogicalResult nameValues();
  LogicalResult writeOp(Operation *op);
  void writeType(Value value, StringRef name, pb::ValueInfoProto &info);

  func::FuncOp main;
  int opset;
  pb::GraphProto &graph;
  llvm::DenseMap<Value, std::string> names;
  llvm::StringSet<> taken, nodeNames;
  std::vector<std::pair<std::string, ConstantOp>> used;
  llvm::DenseSet<Value> usedConstants;
  SmallVector<std::string> outputs;
};

void setInt(pb::NodeProto &node, StringRef name, int64_t value);

/// Writers of ops that are not one node of their record; null for the others.
using OpWriter = LogicalResult (*)(NodeWriter &, Operation *);
OpWriter findWriter(Operation *op, int opset);
/// Writers of ops that are one node of their record and some attributes more.
OpWriter findRecordWriter(Operation *op);
/// The version range that says this op in an opset, null when there is none.
const OnnxRow *rangeFor(Operation *op, const OpRow &row, int opset);

} // namespace mopt
#endif
