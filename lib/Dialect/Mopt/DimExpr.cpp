//===- DimExpr.cpp - normal form, arithmetic, evaluation, code ----------------------------------------------------===//
//
// Normal form: Sum(value = constant term, args = Product...) with products sorted by their text and without zero factors;
// Product(value = factor, args = atoms sorted by text); an atom is a symbol or a call. A sum of one product with factor 1
// and one atom is the atom itself; a sum without products is a constant.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Runtime/mopt_abi.h"
#include "mopt/Support/Checked.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace mopt {
namespace {

using Atoms = SmallVector<DimAttr, 2>;

struct ByText {
  bool operator()(const Atoms &a, const Atoms &b) const { return text(a) < text(b); }
  static std::string text(const Atoms &atoms) {
    std::string s;
    for (DimAttr atom : atoms)
      s += DimExpr(atom).str() + "*";
    return s;
  }
};

/// A sum of products, for arithmetic. `valid` is false once a factor overflowed.
struct Polynomial {
  int64_t constant = 0;
  std::map<Atoms, int64_t, ByText> terms;
  bool valid = true;

  void addTerm(const Atoms &atoms, int64_t factor) {
    int64_t &slot = atoms.empty() ? constant : terms[atoms];
    auto sum = checked::add(slot, factor);
    valid &= sum.has_value();
    slot = sum.value_or(0);
  }
};

DimAttr make(MLIRContext *context, DimKind kind, int64_t value, StringRef name, ArrayRef<Attribute> args) {
  return DimAttr::get(context, kind, value, StringAttr::get(context, name), args);
}

void accumulate(Polynomial &p, DimAttr e, int64_t scale);

/// Adds scale * value * atoms.
void accumulateProduct(Polynomial &p, DimAttr e, int64_t scale) {
  Atoms atoms;
  for (Attribute a : e.getArgs())
    atoms.push_back(cast<DimAttr>(a));
  auto factor = checked::mul(scale, e.getValue());
  p.valid &= factor.has_value();
  p.addTerm(atoms, factor.value_or(0));
}

void accumulate(Polynomial &p, DimAttr e, int64_t scale) {
  switch (e.getKind()) {
  case DimKind::Const: {
    auto v = checked::mul(scale, e.getValue());
    p.valid &= v.has_value();
    p.addTerm({}, v.value_or(0));
    return;
  }
  case DimKind::Sum: {
    auto v = checked::mul(scale, e.getValue());
    p.valid &= v.has_value();
    p.addTerm({}, v.value_or(0));
    for (Attribute a : e.getArgs())
      accumulate(p, cast<DimAttr>(a), scale);
    return;
  }
  case DimKind::Product:
    return accumulateProduct(p, e, scale);
  default:
    p.addTerm({e}, scale);
  }
}

Polynomial polynomial(DimExpr e) {
  Polynomial p;
  accumulate(p, e.attr(), 1);
  return p;
}

DimExpr build(MLIRContext *context, const Polynomial &p) {
  if (!p.valid)
    return {};
  SmallVector<Attribute> products;
  DimAttr single;
  for (const auto &[atoms, factor] : p.terms) {
    if (factor == 0)
      continue;
    if (factor == 1 && atoms.size() == 1)
      single = atoms.front();
    else
      single = make(context, DimKind::Product, factor, "", SmallVector<Attribute>(atoms.begin(), atoms.end()));
    products.push_back(single);
  }
  if (products.empty())
    return DimExpr::constant(context, p.constant);
  if (products.size() == 1 && p.constant == 0)
    return DimExpr(single);
  return DimExpr(make(context, DimKind::Sum, p.constant, "", products));
}

DimExpr call(DimKind kind, DimExpr a, DimExpr b) { return DimExpr(make(a.context(), kind, 0, "", {a.attr(), b.attr()})); }

std::optional<int64_t> floorDivide(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return std::nullopt;
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/// If every factor and the constant divide by `divisor`, the exact quotient.
std::optional<Polynomial> divideExactly(const Polynomial &p, int64_t divisor) {
  Polynomial q;
  if (!p.valid || divisor == 0 || p.constant % divisor)
    return std::nullopt;
  q.constant = p.constant / divisor;
  for (const auto &[atoms, factor] : p.terms) {
    if (factor % divisor)
      return std::nullopt;
    q.terms[atoms] = factor / divisor;
  }
  return q;
}

/// p / d where d is a single product: each term must hold its atoms and factor.
std::optional<Polynomial> divideByProduct(const Polynomial &p, const Polynomial &d) {
  if (d.constant != 0 || d.terms.size() != 1 || p.constant != 0 || !p.valid)
    return std::nullopt;
  const auto &[atoms, factor] = *d.terms.begin();
  if (factor == 0)
    return std::nullopt;
  Polynomial q;
  for (const auto &[have, f] : p.terms) {
    Atoms rest = have;
    for (DimAttr atom : atoms) {
      auto *found = llvm::find(rest, atom);
      if (found == rest.end())
        return std::nullopt;
      rest.erase(found);
    }
    if (f % factor)
      return std::nullopt;
    q.addTerm(rest, f / factor);
  }
  return q;
}

} // namespace

DimExpr::DimExpr(DimAttr attr) : impl(attr) {}
DimAttr DimExpr::attr() const { return llvm::cast_or_null<DimAttr>(impl); }
DimExpr DimExpr::like(int64_t value) const { return impl ? constant(context(), value) : DimExpr(); }

DimExpr DimExpr::constant(MLIRContext *context, int64_t value) {
  return DimExpr(make(context, DimKind::Const, value, "", {}));
}
DimExpr DimExpr::symbol(MLIRContext *context, StringRef name) {
  return DimExpr(make(context, DimKind::Symbol, 0, name, {}));
}
std::optional<int64_t> DimExpr::asConstant() const {
  return impl && attr().getKind() == DimKind::Const ? std::optional<int64_t>(attr().getValue()) : std::nullopt;
}
std::optional<StringRef> DimExpr::asSymbol() const {
  return impl && attr().getKind() == DimKind::Symbol ? std::optional<StringRef>(attr().getName().getValue()) : std::nullopt;
}

DimExpr DimExpr::operator+(DimExpr other) const {
  if (!impl || !other.impl)
    return {};
  Polynomial p = polynomial(*this);
  accumulate(p, other.attr(), 1);
  return build(context(), p);
}
DimExpr DimExpr::operator-(DimExpr other) const {
  if (!impl || !other.impl)
    return {};
  Polynomial p = polynomial(*this);
  accumulate(p, other.attr(), -1);
  return build(context(), p);
}
DimExpr DimExpr::operator*(DimExpr other) const {
  if (!impl || !other.impl)
    return {};
  Polynomial a = polynomial(*this), b = polynomial(other), r;
  r.valid = a.valid && b.valid;
  auto each = [](const Polynomial &p, llvm::function_ref<void(const Atoms &, int64_t)> visit) {
    if (p.constant)
      visit({}, p.constant);
    for (const auto &[atoms, factor] : p.terms)
      visit(atoms, factor);
  };
  each(a, [&](const Atoms &x, int64_t fx) {
    each(b, [&](const Atoms &y, int64_t fy) {
      Atoms atoms(x);
      atoms.append(y.begin(), y.end());
      llvm::sort(atoms, [](DimAttr p, DimAttr q) { return DimExpr(p).str() < DimExpr(q).str(); });
      auto factor = checked::mul(fx, fy);
      r.valid &= factor.has_value();
      r.addTerm(atoms, factor.value_or(0));
    });
  });
  return build(context(), r);
}

DimExpr DimExpr::floorDiv(DimExpr other) const {
  if (!impl || !other.impl || other.isConstant(0))
    return {};
  auto divisor = other.asConstant();
  if (divisor == 1)
    return *this;
  if (divisor) {
    if (auto value = asConstant()) {
      auto q = floorDivide(*value, *divisor);
      return q ? like(*q) : DimExpr();
    }
    Polynomial p = polynomial(*this);
    if (auto q = divideExactly(p, *divisor))
      return build(context(), *q);
    if (*divisor > 0) {
      // floor((d*x + r) / d) = x + floor(r / d): pull out what divides, so that equal sizes look equal.
      Polynomial whole, rest;
      auto c = floorDivide(p.constant, *divisor);
      whole.constant = c.value_or(0);
      rest.constant = p.constant - whole.constant * *divisor;
      for (const auto &[atoms, factor] : p.terms)
        (factor % *divisor ? rest : whole).terms[atoms] = factor % *divisor ? factor : factor / *divisor;
      DimExpr inner = build(context(), rest);
      // floor(floor(x / a) / b) = floor(x / (a * b))
      if (inner && inner.attr().getKind() == DimKind::FloorDiv)
        if (auto a = DimExpr(cast<DimAttr>(inner.attr().getArgs()[1])).asConstant(); a && *a > 0)
          if (auto product = checked::mul(*a, *divisor))
            return build(context(), whole) + DimExpr(cast<DimAttr>(inner.attr().getArgs()[0])).floorDiv(*product);
      if (auto value = inner.asConstant())
        return build(context(), whole) + floorDivide(*value, *divisor).value_or(0);
      return build(context(), whole) + call(DimKind::FloorDiv, inner, other);
    }
  } else if (auto q = divideByProduct(polynomial(*this), polynomial(other))) {
    return build(context(), *q);
  }
  return *this == other ? like(1) : call(DimKind::FloorDiv, *this, other);
}

DimExpr DimExpr::ceilDiv(DimExpr other) const {
  if (!impl || !other.impl || other.isConstant(0))
    return {};
  if (auto divisor = other.asConstant(); divisor && *divisor > 0)
    return (*this + (*divisor - 1)).floorDiv(other);
  if (auto q = divideByProduct(polynomial(*this), polynomial(other)))
    return build(context(), *q);
  return *this == other ? like(1) : call(DimKind::CeilDiv, *this, other);
}

DimExpr DimExpr::mod(DimExpr other) const {
  if (!impl || !other.impl || other.isConstant(0))
    return {};
  if (other.asConstant())
    return *this - floorDiv(other) * other;
  return *this == other ? like(0) : call(DimKind::Mod, *this, other);
}

static bool textLess(DimExpr a, DimExpr b) { return a.str() < b.str(); }

DimExpr DimExpr::min(DimExpr a, DimExpr b) {
  if (!a || !b)
    return {};
  if (auto d = (a - b).asConstant())
    return *d <= 0 ? a : b;
  return textLess(a, b) ? call(DimKind::Min, a, b) : call(DimKind::Min, b, a);
}
DimExpr DimExpr::max(DimExpr a, DimExpr b) {
  if (!a || !b)
    return {};
  if (auto d = (a - b).asConstant())
    return *d >= 0 ? a : b;
  return textLess(a, b) ? call(DimKind::Max, a, b) : call(DimKind::Max, b, a);
}
DimExpr DimExpr::broadcast(DimExpr a, DimExpr b) {
  if (!a || !b)
    return {};
  if (a == b || b.isConstant(1))
    return a;
  if (a.isConstant(1))
    return b;
  auto x = a.asConstant(), y = b.asConstant();
  if (x && y)
    return {};
  // bcast(min(c, b), b) with c >= 1: either the minimum is b, or no broadcast exists and the run ends with an error.
  // Tables of positions, cut to the length of a sequence and added to it, have this form.
  auto isCut = [](DimExpr cut, DimExpr whole) {
    if (cut.attr().getKind() != DimKind::Min)
      return false;
    DimExpr p(cast<DimAttr>(cut.attr().getArgs()[0])), q(cast<DimAttr>(cut.attr().getArgs()[1]));
    return (p == whole && q.asConstant().value_or(0) >= 1) || (q == whole && p.asConstant().value_or(0) >= 1);
  };
  if (isCut(a, b))
    return b;
  if (isCut(b, a))
    return a;
  // A number other than 1 decides: the other size must be it or 1, which is checked when the model runs.
  if (x)
    return a;
  if (y)
    return b;
  return textLess(a, b) ? call(DimKind::Bcast, a, b) : call(DimKind::Bcast, b, a);
}

unsigned DimExpr::weight(unsigned limit) const {
  if (!impl)
    return 0;
  unsigned total = 1;
  for (Attribute a : attr().getArgs()) {
    if (total > limit)
      break;
    total += DimExpr(dyn_cast<DimAttr>(a)).weight(limit - total);
  }
  return total;
}

DimExpr DimExpr::product(ArrayRef<DimExpr> dims, MLIRContext *context) {
  constexpr unsigned limit = 4096; // of terms
  DimExpr result = constant(context, 1);
  for (DimExpr dim : dims)
    result = result.weight(limit) * dim.weight(limit) > limit ? DimExpr() : result * dim;
  return result;
}

static std::optional<int64_t> apply(DimKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case DimKind::FloorDiv:
    return floorDivide(a, b);
  case DimKind::CeilDiv: {
    auto q = floorDivide(a, b);
    return q ? std::optional<int64_t>(*q + (*q * b != a)) : std::nullopt;
  }
  case DimKind::Mod: {
    auto q = floorDivide(a, b);
    return q ? std::optional<int64_t>(a - *q * b) : std::nullopt;
  }
  case DimKind::Min:
    return std::min(a, b);
  case DimKind::Max:
    return std::max(a, b);
  case DimKind::Bcast:
    return a == b || b == 1 ? std::optional<int64_t>(a) : a == 1 ? std::optional<int64_t>(b) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> DimExpr::evaluate(llvm::function_ref<std::optional<int64_t>(StringRef)> valueOf) const {
  if (!impl)
    return std::nullopt;
  DimAttr e = attr();
  auto arg = [&](unsigned i) { return DimExpr(cast<DimAttr>(e.getArgs()[i])).evaluate(valueOf); };
  switch (e.getKind()) {
  case DimKind::Const:
    return e.getValue();
  case DimKind::Symbol:
    return valueOf(e.getName().getValue());
  case DimKind::Sum:
  case DimKind::Product: {
    std::optional<int64_t> r = e.getValue();
    for (unsigned i = 0; i < e.getArgs().size() && r; ++i) {
      auto v = arg(i);
      if (!v)
        return std::nullopt;
      r = e.getKind() == DimKind::Sum ? checked::add(*r, *v) : checked::mul(*r, *v);
    }
    return r;
  }
  default: {
    auto a = arg(0), b = arg(1);
    return a && b ? apply(e.getKind(), *a, *b) : std::nullopt;
  }
  }
}

DimExpr DimExpr::substitute(llvm::function_ref<DimExpr(StringRef)> replacement) const {
  if (!impl)
    return {};
  DimAttr e = attr();
  auto arg = [&](unsigned i) { return DimExpr(cast<DimAttr>(e.getArgs()[i])).substitute(replacement); };
  switch (e.getKind()) {
  case DimKind::Const:
    return *this;
  case DimKind::Symbol: {
    DimExpr r = replacement(e.getName().getValue());
    return r ? r : *this;
  }
  case DimKind::Sum:
  case DimKind::Product: {
    DimExpr r = like(e.getValue());
    for (unsigned i = 0; i < e.getArgs().size(); ++i)
      r = e.getKind() == DimKind::Sum ? r + arg(i) : r * arg(i);
    return r;
  }
  case DimKind::FloorDiv:
    return arg(0).floorDiv(arg(1));
  case DimKind::CeilDiv:
    return arg(0).ceilDiv(arg(1));
  case DimKind::Mod:
    return arg(0).mod(arg(1));
  case DimKind::Min:
    return min(arg(0), arg(1));
  case DimKind::Max:
    return max(arg(0), arg(1));
  case DimKind::Bcast:
    return broadcast(arg(0), arg(1));
  }
  return {};
}

void DimExpr::forEachSymbol(llvm::function_ref<void(StringRef)> visit) const {
  if (!impl)
    return;
  if (auto name = asSymbol())
    visit(*name);
  for (Attribute a : attr().getArgs())
    DimExpr(cast<DimAttr>(a)).forEachSymbol(visit);
}

void DimExpr::encode(llvm::function_ref<int64_t(StringRef)> symbolNumber, SmallVectorImpl<int64_t> &code) const {
  DimAttr e = attr();
  auto arg = [&](unsigned i) { DimExpr(cast<DimAttr>(e.getArgs()[i])).encode(symbolNumber, code); };
  auto constantWord = [&](int64_t value) { code.append({MOPT_X_CONST, value}); };
  switch (e.getKind()) {
  case DimKind::Const:
    return constantWord(e.getValue());
  case DimKind::Symbol:
    code.append({MOPT_X_SYM, symbolNumber(e.getName().getValue())});
    return;
  case DimKind::Sum:
  case DimKind::Product: {
    bool sum = e.getKind() == DimKind::Sum, skip = e.getValue() == (sum ? 0 : 1);
    for (unsigned i = 0; i < e.getArgs().size(); ++i) {
      arg(i);
      if (i)
        code.push_back(sum ? MOPT_X_ADD : MOPT_X_MUL);
    }
    if (!skip) {
      constantWord(e.getValue());
      code.push_back(sum ? MOPT_X_ADD : MOPT_X_MUL);
    }
    return;
  }
  default:
    arg(0);
    arg(1);
    static const std::map<DimKind, int64_t> words = {
        {DimKind::FloorDiv, MOPT_X_FLOORDIV}, {DimKind::CeilDiv, MOPT_X_CEILDIV}, {DimKind::Mod, MOPT_X_MOD},
        {DimKind::Min, MOPT_X_MIN},           {DimKind::Max, MOPT_X_MAX},         {DimKind::Bcast, MOPT_X_BCAST}};
    code.push_back(words.at(e.getKind()));
  }
}

static bool isBareName(StringRef name) {
  if (name.empty() || !(llvm::isAlpha(name[0]) || name[0] == '_'))
    return false;
  static const llvm::StringRef calls[] = {"floordiv", "ceildiv", "mod", "min", "max", "bcast"};
  return llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; }) &&
         !llvm::is_contained(calls, name);
}

std::string DimExpr::str() const {
  if (!impl)
    return "?";
  DimAttr e = attr();
  auto arg = [&](unsigned i) { return DimExpr(cast<DimAttr>(e.getArgs()[i])).str(); };
  switch (e.getKind()) {
  case DimKind::Const:
    return std::to_string(e.getValue());
  case DimKind::Symbol: {
    StringRef name = e.getName().getValue();
    if (isBareName(name))
      return name.str();
    std::string text = "\"";
    llvm::raw_string_ostream os(text);
    llvm::printEscapedString(name, os);
    return text + "\"";
  }
  case DimKind::Sum: {
    std::string text;
    for (unsigned i = 0; i < e.getArgs().size(); ++i)
      text += (i ? " + " : "") + arg(i);
    if (e.getValue())
      text += (e.getValue() < 0 ? " - " : " + ") + std::to_string(e.getValue()).substr(e.getValue() < 0);
    return text;
  }
  case DimKind::Product: {
    std::string text = e.getValue() == 1 ? "" : std::to_string(e.getValue());
    for (unsigned i = 0; i < e.getArgs().size(); ++i)
      text += (text.empty() ? "" : " * ") + arg(i);
    return text;
  }
  default: {
    static const char *const names[] = {"", "", "", "", "floordiv", "ceildiv", "mod", "min", "max", "bcast"};
    return std::string(names[static_cast<unsigned>(e.getKind())]) + "(" + arg(0) + ", " + arg(1) + ")";
  }
  }
}

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, DimExpr expr) { return os << expr.str(); }

} // namespace mopt
