//===- OpBase.td - what a record of the mopt dialect says ---------------------------------------------------------===//
//
// One op is one record. From it come: the MLIR op, the importer's and exporter's tables, attribute slots and prototypes
// of the reference functions, the interpreter's table, the documentation and the coverage matrix (mopt-tblgen).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_OPBASE
#define MOPT_DIALECT_MOPT_OPBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mopt/Dialect/Mopt/Interfaces.td"

def Mopt_Dialect : Dialect {
  let name = "mopt";
  let summary = "Graph operators on tensors; one op has one meaning";
  let description = [{
    Values are ranked tensors. Sizes that are known only at run time are expressions over named symbols, kept in the
    encoding `#mopt.dims`. An operand or result that is left out has type `none`.
  }];
  let cppNamespace = "::mopt";
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    /// Bytes of weights, by source name. One per context.
    ::mopt::WeightStore &getWeightStore() { return *weightStore; }
    /// One per family of ops, in the family's file.
    void addStructureOps();
    void addElementwiseOps();
    void addContractionOps();
    void addMovementOps();
    void addReductionOps();
    void addNormOps();
    void addQuantOps();
    void addRecurrentOps();
  private:
    std::shared_ptr<::mopt::WeightStore> weightStore;
  public:
  }];
}

//===----------------------------------------------------------------------===//
// Element types, with the letters that documentation and `types` strings use
//===----------------------------------------------------------------------===//
def Sub8 : AnyTypeOf<[I<2>, I<4>, UI<2>, UI<4>], "2 or 4 bit integer">;
def Float : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def Float8 : AnyTypeOf<[F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN], "8 or 4 bit float">;
def Num : AnyTypeOf<[F16, BF16, F32, F64, I8, I16, I32, I64, UI8, UI16, UI32, UI64], "number">;
def AnyElement : AnyTypeOf<[Num, I1, Float8, Sub8, Complex<AnyFloat>], "any element type">;

class Mopt_Tensor<Type element> : RankedTensorOf<[element]>;
def T_Any : Mopt_Tensor<AnyElement>;
def T_Num : Mopt_Tensor<Num>;
def T_Float : Mopt_Tensor<Float>;
def T_Bool : Mopt_Tensor<I1>;
def T_Index : Mopt_Tensor<AnyTypeOf<[I32, I64]>>;
def T_I64 : Mopt_Tensor<I64>;
class Opt<Type t> : AnyTypeOf<[t, NoneType]>; // left out: a value of type `none`
def O_Any : Opt<T_Any>;
def O_Num : Opt<T_Num>;
def O_Float : Opt<T_Float>;
def O_I64 : Opt<T_I64>;
def O_Index : Opt<T_Index>;

//===----------------------------------------------------------------------===//
// Attributes. Reference functions see attribute k of the record as slot k (integers as int64_t, floats as double,
// choices as their position in the list).
//===----------------------------------------------------------------------===//
class Int<int value> : DefaultValuedAttr<I64Attr, !cast<string>(value)> { int moptInt = value; }
class Flt<string value> : DefaultValuedAttr<F32Attr, value> { string moptFloat = value; }
/// 1: operand 0 and result 0 lie as N, spatial..., C instead of N, C, spatial...; weights stay as ONNX has them. Passes set
/// it; ONNX has no such attribute. Reference functions do not read it: they get descriptors whose axes are put in order.
def ChannelsLast : Int<0>;
def OptInt : OptionalAttr<I64Attr>;
def OptFlt : OptionalAttr<F32Attr>;
def Ints : OptionalAttr<DenseI64ArrayAttr>;
def Flts : OptionalAttr<DenseF32ArrayAttr>;
class IsOneOf<list<string> values> : AttrConstraint<
    CPred<"::llvm::is_contained({" # !interleave(!foreach(v, values, "\"" # v # "\""), ", ") #
          "}, ::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "one of " # !interleave(values, ", ")>;
class Choice<list<string> values, string value = values[0]>
    : DefaultValuedStrAttr<ConfinedAttr<StrAttr, [IsOneOf<values>]>, value> {
  list<string> moptChoices = values;
  string moptChoice = value;
}

//===----------------------------------------------------------------------===//
// ONNX names and versions
//===----------------------------------------------------------------------===//
/// Versions since..until (0: newest) of an ONNX operator that mean this op.
/// Inputs go to operands by position, attributes to attributes of the same name.
/// `attrInputs`: attributes of these versions that are operands here, as "attribute:operand"; they become constants.
/// `set`: attributes of this op that the name or version fixes, as "attribute=value".
/// `adapter`: a C++ function of lib/Import that builds the op where position and name do not say it all.
class Onnx<string name_, int since_, int until_ = 0, list<string> attrInputs_ = [], list<string> set_ = [],
           string adapter_ = "", string domain_ = ""> {
  string name = name_; string domain = domain_;
  int since = since_; int until = until_;
  list<string> attrInputs = attrInputs_; list<string> set = set_; string adapter = adapter_;
}

//===----------------------------------------------------------------------===//
// How independent the elements of the result are: what may run as separate chunks
//===----------------------------------------------------------------------===//
class Units<string kind_> { string kind = kind_; }
def Serial : Units<"serial">;       // one unit
def Elements : Units<"elements">;   // each element of result 0, flat
def Rows : Units<"rows">;           // all but the last axis of result 0
def Planes : Units<"planes">;       // the first two axes of result 0
def Outer : Units<"outer">;         // the first axis of result 0
def Slices : Units<"slices">;       // all axes of result 0 but the one in attribute `axis`
def BeforeAxis : Units<"before_axis">; // the axes of result 0 before attribute `axis`

class Mopt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Mopt_Dialect, mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<MoptOpInterface>])> {
  list<Onnx> onnx = [];
  /// Letters of axes, "x[n,c] w[k,c] -> y[n,k]". Batch, contraction and output channel follow from where a letter occurs.
  string index = "";
  /// What a chunk of the reference function is.
  Units units = Elements;
  /// never | transparent (moves values) | weighted (contraction) | elementwise | reduce
  string quantClass = "never";
  /// exact (bits follow from ONNX) | rounded (order of operations is stated) | approx (function with stated error)
  string numericClass = "exact";
  /// Inputs for which ONNX gives no result, and what happens here.
  string undefinedWhen = "";
  /// elementwise | reference | view | structure
  string kind = "reference";
  /// Elementwise ops: compute signature over T (all compute types), F (f32, f64), B (boolean), as "TT->T".
  string scalar = "";
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
#endif // MOPT_DIALECT_MOPT_OPBASE
