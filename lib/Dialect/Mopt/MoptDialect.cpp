//===- MoptDialect.cpp - the dialect, its attributes and their text -----------------------------------------------===//
#include "mlir/IR/DialectImplementation.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "llvm/ADT/TypeSwitch.h"

#include "mopt/Dialect/Mopt/MoptDialect.cpp.inc"
#include "mopt/Dialect/Mopt/MoptInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "mopt/Dialect/Mopt/MoptAttributes.cpp.inc"

namespace mopt {

void MoptDialect::initialize() {
  weightStore = std::make_shared<WeightStore>();
  registerAttributes();
  addStructureOps();
  addElementwiseOps();
  addContractionOps();
  addMovementOps();
  addReductionOps();
  addNormOps();
  addQuantOps();
  addRecurrentOps();
}

void MoptDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mopt/Dialect/Mopt/MoptAttributes.cpp.inc"
      >();
}

Operation *MoptDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (isa<NoneType>(type))
    return NoneOp::create(builder, loc, type, builder.getUnitAttr());
  if (isa<ElementsAttr, WeightAttr>(value) && isa<RankedTensorType>(type))
    return ConstantOp::create(builder, loc, type, value);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Text of sizes
//===----------------------------------------------------------------------===//
namespace {

constexpr unsigned maxNesting = 64; // of parentheses and calls in text

FailureOr<DimExpr> parseSum(AsmParser &parser, unsigned depth);

FailureOr<DimExpr> parseAtom(AsmParser &parser, unsigned depth) {
  MLIRContext *context = parser.getContext();
  SMLoc loc = parser.getCurrentLocation();
  if (depth > maxNesting)
    return parser.emitError(loc, "size is nested too deeply"), failure();
  int64_t value;
  if (OptionalParseResult number = parser.parseOptionalInteger(value); number.has_value()) {
    if (failed(*number))
      return failure();
    return DimExpr::constant(context, value);
  }
  if (succeeded(parser.parseOptionalQuestion()))
    return parser.emitError(loc, "a size needs a name: write a symbol instead of '?'"), failure();
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<DimExpr> inner = parseSum(parser, depth + 1);
    if (failed(inner) || parser.parseRParen())
      return failure();
    return inner;
  }
  std::string name;
  if (succeeded(parser.parseOptionalString(&name)))
    return DimExpr::symbol(context, name);
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  using Call = DimExpr (*)(DimExpr, DimExpr);
  Call call = llvm::StringSwitch<Call>(keyword)
                  .Case("floordiv", [](DimExpr a, DimExpr b) { return a.floorDiv(b); })
                  .Case("ceildiv", [](DimExpr a, DimExpr b) { return a.ceilDiv(b); })
                  .Case("mod", [](DimExpr a, DimExpr b) { return a.mod(b); })
                  .Case("min", &DimExpr::min)
                  .Case("max", &DimExpr::max)
                  .Case("bcast", &DimExpr::broadcast)
                  .Default(nullptr);
  if (!call)
    return DimExpr::symbol(context, keyword);
  if (parser.parseLParen())
    return failure();
  FailureOr<DimExpr> a = parseSum(parser, depth + 1);
  if (failed(a) || parser.parseComma())
    return failure();
  FailureOr<DimExpr> b = parseSum(parser, depth + 1);
  if (failed(b) || parser.parseRParen())
    return failure();
  DimExpr result = call(*a, *b);
  if (!result)
    return parser.emitError(loc, "size has no value"), failure();
  return result;
}

FailureOr<DimExpr> parseProduct(AsmParser &parser, unsigned depth) {
  FailureOr<DimExpr> left = parseAtom(parser, depth);
  while (succeeded(left) && succeeded(parser.parseOptionalStar())) {
    FailureOr<DimExpr> right = parseAtom(parser, depth);
    if (failed(right))
      return failure();
    left = *left * *right;
    if (!*left)
      return parser.emitError(parser.getCurrentLocation(), "size overflows"), failure();
  }
  return left;
}

FailureOr<DimExpr> parseSum(AsmParser &parser, unsigned depth) {
  FailureOr<DimExpr> left = parseProduct(parser, depth);
  while (succeeded(left)) {
    bool minus = false;
    if (failed(parser.parseOptionalPlus())) {
      // `b - 1`: the lexer gives a minus token, or a negative number after a blank
      int64_t value;
      OptionalParseResult number = parser.parseOptionalInteger(value);
      if (number.has_value()) {
        if (failed(*number))
          return failure();
        left = *left + value;
        continue;
      }
      if (failed(parser.parseOptionalMinus()))
        break;
      minus = true;
    }
    FailureOr<DimExpr> right = parseProduct(parser, depth);
    if (failed(right))
      return failure();
    left = minus ? *left - *right : *left + *right;
    if (!*left)
      return parser.emitError(parser.getCurrentLocation(), "size overflows"), failure();
  }
  return left;
}

} // namespace

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimExpr> expr = parseSum(parser, 0);
  if (failed(expr) || parser.parseGreater())
    return {};
  return expr->attr();
}
void DimAttr::print(AsmPrinter &printer) const { printer << "<" << DimExpr(*this).str() << ">"; }

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimAttr> dims;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       FailureOr<DimExpr> expr = parseSum(parser, 0);
                                       if (failed(expr))
                                         return failure();
                                       dims.push_back(expr->attr());
                                       return success();
                                     }) ||
      parser.parseGreater())
    return {};
  return DimsAttr::get(parser.getContext(), dims);
}
void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) { printer << DimExpr(dim).str(); });
  printer << "]>";
}

} // namespace mopt
