//===- BindShapes.cpp - symbols become numbers --------------------------------------------------------------------===//
#include "mlir/IR/AttrTypeSubElements.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"

namespace mopt {
#define GEN_PASS_DEF_BINDSHAPES
#include "mopt/Transforms/Passes.h.inc"

namespace {

/// Symbols that the given sizes of one input bind, or a report.
LogicalResult bindInput(func::FuncOp function, StringRef name, ArrayRef<int64_t> sizes, llvm::StringMap<int64_t> &values) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto known = function.getArgAttrOfType<StringAttr>(i, "mopt.name");
    if (!known || known.getValue() != name)
      continue;
    SmallVector<DimExpr> dims = dimsOf(function.getArgument(i));
    if (dims.size() != sizes.size())
      return function.emitError() << "MOPT-C014: --shape gives input '" << name << "' " << sizes.size() << " axes, it has "
                                  << dims.size();
    for (auto [axis, dim] : llvm::enumerate(dims)) {
      int64_t size = sizes[axis];
      if (ShapedType::isDynamic(size))
        continue;
      if (size < 0)
        return function.emitError() << "MOPT-C014: --shape gives axis " << axis << " of input '" << name
                                    << "' a negative size";
      if (auto symbol = dim.asSymbol()) {
        auto [it, isNew] = values.insert({*symbol, size});
        if (!isNew && it->second != size)
          return function.emitError() << "MOPT-C014: --shape gives size '" << *symbol << "' both " << it->second << " and "
                                      << size;
      } else if (dim.asConstant() && *dim.asConstant() != size) {
        return function.emitError() << "MOPT-C014: --shape gives axis " << axis << " of input '" << name << "' size " << size
                                    << ", the model says " << dim.str();
      }
    }
    return success();
  }
  return function.emitError() << "MOPT-C014: --shape names input '" << name << "', which the model does not have";
}

struct BindShapes : impl::BindShapesBase<BindShapes> {
  using BindShapesBase::BindShapesBase;
  void runOnOperation() override {
    std::map<std::string, SmallVector<int64_t>> given;
    for (const std::string &text : shapes) {
      auto [name, sizes] = StringRef(text).rsplit('=');
      SmallVector<StringRef> parts;
      sizes.split(parts, 'x');
      for (StringRef part : parts) {
        int64_t size = ShapedType::kDynamic;
        if (part != "?" && part.getAsInteger(10, size)) {
          getOperation().emitError() << "MOPT-C014: expected NAME=SIZExSIZE..., found '" << text << "'";
          return signalPassFailure();
        }
        given[name.str()].push_back(size);
      }
    }
    if (failed(bindShapes(getOperation(), given)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult bindShapes(ModuleOp module, const std::map<std::string, SmallVector<int64_t>> &shapes) {
  llvm::StringMap<int64_t> values;
  for (auto function : module.getOps<func::FuncOp>())
    for (const auto &[name, sizes] : shapes)
      if (failed(bindInput(function, name, sizes, values)))
        return failure();
  if (values.empty())
    return success();
  // A size that has no value for these symbols (an impossible broadcast) stays as it is: its op reports it.
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    SmallVector<DimExpr> dims = dimsOf(type);
    for (DimExpr &dim : dims) {
      DimExpr bound = dim.substitute([&](StringRef name) {
        auto found = values.find(name);
        return found == values.end() ? DimExpr() : DimExpr::constant(type.getContext(), found->second);
      });
      dim = bound ? bound : dim;
    }
    return tensorType(dims, type.getElementType());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  return success();
}

} // namespace mopt
