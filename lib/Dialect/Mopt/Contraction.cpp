//===- Contraction.cpp - shape rules of sums of products ----------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Contraction.h"
#include "ShapeRules.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Contraction.cpp.inc"

namespace mopt {

void MoptDialect::addContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Contraction.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//
static LogicalResult inferMatmul(Rule &rule, unsigned a, unsigned b, Type element, Types &types) {
  Dims sizesA, sizesB, out;
  if (failed(rule.sizes(a, sizesA)) || failed(rule.sizes(b, sizesB)) || failed(matmulSizes(rule, sizesA, sizesB, out)))
    return failure();
  return rule.result(out, element, types);
}

LogicalResult MatMulOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  if (failed(rule.sameElementTypes({0, 1})))
    return failure();
  return inferMatmul(rule, 0, 1, rule.element(0), types);
}

LogicalResult MatMulIntegerOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  return inferMatmul(rule, 0, 1, IntegerType::get(context.getContext(), 32), types);
}

/// Requantization in integers takes and gives integers.
static LogicalResult checkRequantize(Rule &rule, StringRef mode) {
  if (mode == "float" || (isa_and_nonnull<IntegerType>(rule.element(0)) && isa_and_nonnull<IntegerType>(rule.element(7))))
    return success();
  return rule.fail("MOPT-S011", "requantize is fixed, which takes 8-bit integers");
}

LogicalResult QLinearMatMulOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  if (failed(checkRequantize(rule, getRequantize())))
    return failure();
  return inferMatmul(rule, 0, 3, rule.element(7), types);
}

LogicalResult GemmOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims a, b;
  if (failed(rule.sizes(0, a, 2)) || failed(rule.sizes(1, b, 2)) || failed(rule.sameElementTypes({0, 1, 2})) ||
      failed(rule.flag(getTransA(), "transA")) || failed(rule.flag(getTransB(), "transB")))
    return failure();
  if (getTransA())
    std::swap(a[0], a[1]);
  if (getTransB())
    std::swap(b[0], b[1]);
  if (failed(rule.equal(a[1], b[0], "columns of a and rows of b")))
    return failure();
  Dims out = {a[0], b[1]};
  if (rule.operand(2)) {
    Dims c;
    if (failed(rule.sizes(2, c)) || failed(rule.broadcast(out, c, /*oneWay=*/true)))
      return failure();
  }
  return rule.result(out, rule.element(0), types);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//
/// The kernel's sizes: the attribute where it is given, since it has to repeat what the weights say.
static LogicalResult kernelSizes(Rule &rule, const Window &window, ArrayRef<DimExpr> weights, Dims &kernel) {
  kernel.assign(weights.begin() + 2, weights.end());
  if (window.kernel.empty())
    return success();
  if (failed(rule.checkWindow(window, kernel.size())))
    return failure();
  for (auto [i, size] : llvm::enumerate(window.kernel)) {
    if (failed(rule.equal(kernel[i], rule.constant(size), "kernel_shape and the sizes of the weights")))
      return failure();
    kernel[i] = rule.constant(size);
  }
  return success();
}

static LogicalResult inferConv(Rule &rule, unsigned input, unsigned weights, std::optional<unsigned> bias, int64_t group,
                               int64_t channelsLast, const Window &window, Type element, Types &types) {
  Dims x, w, kernel;
  if (failed(rule.sizesAtLeast(input, x, 3)) || failed(rule.sizes(weights, w, x.size())) ||
      failed(rule.channelsFirst(channelsLast, x)))
    return failure();
  if (group < 1)
    return rule.fail("MOPT-S013", "group is " + Twine(group) + ", expected at least 1");
  if (!mayBeEqual(x[1], w[1] * group))
    return rule.fail("MOPT-S013", "the input has " + x[1].str() + " channels, expected " + (w[1] * group).str() + ": " +
                                      w[1].str() + " of the weights times group " + Twine(group));
  if (auto outputs = w[0].asConstant(); outputs && *outputs % group)
    return rule.fail("MOPT-S013", Twine(*outputs) + " output channels do not divide into " + Twine(group) + " groups");
  if (bias && rule.operand(*bias) && failed(rule.vectorOf(*bias, w[0], "elements of the bias and output channels")))
    return failure();
  Dims out = {x[0], w[0]};
  if (failed(kernelSizes(rule, window, w, kernel)) ||
      failed(rule.window(window, ArrayRef<DimExpr>(x).drop_front(2), kernel, out)))
    return failure();
  return rule.imageResult(channelsLast, out, element, types);
}

LogicalResult ConvOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  if (failed(rule.sameElementTypes({0, 1, 2})))
    return failure();
  return inferConv(rule, 0, 1, 2, getGroup(), getChannelsLast(), windowOf(*this), rule.element(0), types);
}

LogicalResult ConvIntegerOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  return inferConv(rule, 0, 1, std::nullopt, getGroup(), getChannelsLast(), windowOf(*this),
                   IntegerType::get(context.getContext(), 32), types);
}

LogicalResult QLinearConvOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  if (failed(checkRequantize(rule, getRequantize())))
    return failure();
  return inferConv(rule, 0, 3, 8, getGroup(), getChannelsLast(), windowOf(*this), rule.element(7), types);
}

LogicalResult ConvTransposeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x, w, kernel;
  if (failed(rule.sizesAtLeast(0, x, 3)) || failed(rule.sizes(1, w, x.size())) || failed(rule.sameElementTypes({0, 1, 2})) ||
      failed(rule.channelsFirst(getChannelsLast(), x)))
    return failure();
  int64_t group = getGroup();
  if (group < 1)
    return rule.fail("MOPT-S013", "group is " + Twine(group) + ", expected at least 1");
  if (failed(rule.equal(x[1], w[0], "channels of the input and of the weights")))
    return failure();
  if (auto channels = x[1].asConstant(); channels && *channels % group)
    return rule.fail("MOPT-S013", Twine(*channels) + " input channels do not divide into " + Twine(group) + " groups");
  DimExpr outputs = w[1] * group;
  if (rule.operand(2) && failed(rule.vectorOf(2, outputs, "elements of the bias and output channels")))
    return failure();

  Window window = windowOf(*this);
  size_t spatial = x.size() - 2;
  if (failed(rule.checkWindow(window, spatial)) || failed(kernelSizes(rule, window, w, kernel)))
    return failure();
  auto list = [](DenseI64ArrayAttr attr) { return attr ? attr.asArrayRef() : ArrayRef<int64_t>(); };
  ArrayRef<int64_t> extra = list(getOutputPaddingAttr()), given = list(getOutputShapeAttr());
  if (!extra.empty() && extra.size() != spatial)
    return rule.fail("MOPT-S012", "output_padding has " + Twine(extra.size()) + " entries, expected " + Twine(spatial));
  if (given.size() == x.size())
    given = given.drop_front(2); // some exporters repeat batch and channels
  if (!given.empty() && given.size() != spatial)
    return rule.fail("MOPT-S012", "output_shape has " + Twine(given.size()) + " entries, expected " + Twine(spatial));

  Dims out = {x[0], outputs};
  for (size_t i = 0; i < spatial; ++i) {
    int64_t stride = window.stride(i), more = extra.empty() ? 0 : extra[i];
    if (more < 0)
      return rule.fail("MOPT-S012", "output_padding holds " + Twine(more) + ", expected at least 0");
    if (!given.empty()) {
      if (given[i] < 1)
        return rule.fail("MOPT-S012", "output_shape holds " + Twine(given[i]) + ", expected at least 1");
      out.push_back(rule.constant(given[i]));
    } else if (window.autoPad.starts_with("SAME")) {
      out.push_back(x[i + 2] * stride);
    } else {
      DimExpr size =
          (x[i + 2] - 1) * stride + more + (kernel[i] - 1) * window.dilation(i) + 1 - window.padBegin(i) - window.padEnd(i);
      if (auto value = size.asConstant(); value && *value < 0)
        return rule.fail("MOPT-S012", "axis " + Twine(i + 2) + ": the padding is larger than the result");
      out.push_back(size);
    }
  }
  return rule.imageResult(getChannelsLast(), out, rule.element(0), types);
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//
namespace {
/// "...ij": letters before and after the ellipsis.
struct Term {
  std::string before, after;
  bool ellipsis = false;
};

LogicalResult parseTerm(Rule &rule, StringRef text, Term &term) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ' ')
      continue;
    if (c == '.') {
      if (term.ellipsis || !text.substr(i).starts_with("..."))
        return rule.fail("MOPT-S016", "term '" + text + "' of the equation has a misplaced '.'");
      term.ellipsis = true;
      i += 2;
    } else if (llvm::isAlpha(c)) {
      (term.ellipsis ? term.after : term.before) += c;
    } else {
      return rule.fail("MOPT-S016", "term '" + text + "' of the equation holds '" + Twine(c) + "', expected a letter");
    }
  }
  return success();
}

/// Sizes of the letters of an equation.
struct Letters {
  Rule &rule;
  DimExpr sizes[128];
  unsigned uses[128] = {};
  Dims ellipsis;
  bool anyEllipsis = false;

  LogicalResult bind(char letter, DimExpr size) {
    DimExpr &slot = sizes[static_cast<unsigned char>(letter)];
    ++uses[static_cast<unsigned char>(letter)];
    DimExpr joint = slot ? DimExpr::broadcast(slot, size) : size;
    if (!joint)
      return rule.fail("MOPT-S016",
                       "letter '" + Twine(letter) + "' stands for the sizes " + slot.str() + " and " + size.str());
    slot = joint;
    return success();
  }
  LogicalResult bind(const Term &term, ArrayRef<DimExpr> dims, unsigned operand) {
    size_t named = term.before.size() + term.after.size();
    if (dims.size() < named || (!term.ellipsis && dims.size() != named))
      return rule.fail("MOPT-S016", "operand " + Twine(operand) + " has rank " + Twine(dims.size()) + ", its term has " +
                                        Twine(named) + " letters");
    for (auto [i, letter] : llvm::enumerate(term.before))
      if (failed(bind(letter, dims[i])))
        return failure();
    for (auto [i, letter] : llvm::enumerate(term.after))
      if (failed(bind(letter, dims[dims.size() - term.after.size() + i])))
        return failure();
    if (!term.ellipsis)
      return success();
    anyEllipsis = true;
    return rule.broadcast(ellipsis, dims.slice(term.before.size(), dims.size() - named));
  }
};
} // namespace

LogicalResult EinsumOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  if (!getEquationAttr())
    return rule.fail("MOPT-S016", "the equation is missing");
  StringRef equation = getEquation();
  auto [left, right] = equation.split("->");
  bool explicitResult = equation.contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  unsigned count = getOperation()->getNumOperands();
  if (parts.size() != count || count == 0)
    return rule.fail("MOPT-S016", "the equation has " + Twine(parts.size()) + " terms for " + Twine(count) + " operands");
  Letters letters{rule, {}, {}, {}, false};
  for (unsigned i = 0; i < count; ++i) {
    Term term;
    Dims dims;
    if (failed(rule.sizes(i, dims)) || failed(parseTerm(rule, parts[i], term)) || failed(letters.bind(term, dims, i)))
      return failure();
  }
  Term output;
  if (explicitResult) {
    if (failed(parseTerm(rule, right, output)))
      return failure();
  } else { // all letters that occur once, sorted, after the ellipsis
    output.ellipsis = letters.anyEllipsis;
    for (char c = 'A'; c <= 'z'; ++c)
      if (letters.uses[static_cast<unsigned char>(c)] == 1)
        output.after += c;
  }
  Dims out;
  std::string seen;
  auto append = [&](StringRef names) -> LogicalResult {
    for (char c : names) {
      DimExpr size = letters.sizes[static_cast<unsigned char>(c)];
      if (!size)
        return rule.fail("MOPT-S016", "letter '" + Twine(c) + "' of the result occurs in no operand");
      if (StringRef(seen).contains(c))
        return rule.fail("MOPT-S016", "letter '" + Twine(c) + "' occurs twice in the result");
      seen += c;
      out.push_back(size);
    }
    return success();
  };
  if (failed(append(output.before)))
    return failure();
  if (output.ellipsis)
    llvm::append_range(out, letters.ellipsis);
  if (failed(append(output.after)))
    return failure();
  return rule.result(out, rule.element(0), types);
}

} // namespace mopt
