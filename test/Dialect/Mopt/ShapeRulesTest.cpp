//===- ShapeRulesTest.cpp - rules answer for every op, whatever its operands and attributes are -------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include <gtest/gtest.h>
#include <random>

using namespace mopt;

namespace {

/// Ops as no importer would make them. A rule gives types for all results, or fails; it never crashes.
class Generator {
public:
  Generator(MLIRContext &context, uint64_t seed) : context(context), builder(&context), random(seed) {}

  void run(const OpRow &row, int count) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    for (int i = 0; i < count; ++i)
      one(row);
  }

private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random() % n); }

  Type element() {
    Type types[] = {builder.getF32Type(), builder.getF16Type(), builder.getI64Type(),
                    builder.getI32Type(), builder.getI1Type(),  builder.getIntegerType(8)};
    return pick(3) ? types[pick(3) * 2 % 6] : types[pick(6)];
  }
  RankedTensorType tensor() {
    SmallVector<DimExpr> dims;
    for (int64_t rank = pick(10); rank > 0; --rank) {
      static const int64_t sizes[] = {0, 1, 2, 3, 4, 8, 64, INT64_MAX / 2};
      switch (pick(8)) {
      case 0:
        dims.push_back(DimExpr());
        break;
      case 1:
        dims.push_back(DimExpr::symbol(&context, pick(2) ? "a" : "b") + pick(3));
        break;
      default:
        dims.push_back(DimExpr::constant(&context, sizes[pick(pick(20) ? 6 : 8)]));
      }
    }
    return tensorType(dims, element());
  }
  Value value() {
    Location loc = builder.getUnknownLoc();
    int64_t kind = pick(6);
    if (kind == 0)
      return NoneOp::create(builder, loc, builder.getNoneType(), builder.getUnitAttr());
    if (kind <= 2) {
      SmallVector<int64_t> values;
      for (int64_t n = pick(5); n > 0; --n)
        values.push_back(pick(12) ? pick(7) - 2 : static_cast<int64_t>(random()));
      auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
      if (values.size() == 1 && pick(2))
        type = RankedTensorType::get({}, builder.getI64Type());
      return ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, ArrayRef<int64_t>(values)));
    }
    Type type = pick(40) ? Type(tensor()) : Type(UnrankedTensorType::get(builder.getF32Type()));
    return UnrealizedConversionCastOp::create(builder, loc, type, ValueRange()).getResult(0);
  }
  Attribute attribute(const AttrRow &row) {
    auto integer = [&]() -> int64_t { return pick(15) ? pick(7) - 2 : static_cast<int64_t>(random()); };
    switch (row.kind) {
    case AttrKind::Int:
      return builder.getI64IntegerAttr(integer());
    case AttrKind::Float:
      return builder.getF32FloatAttr(static_cast<float>(pick(5)) - 1);
    case AttrKind::Ints: {
      SmallVector<int64_t> values;
      for (int64_t n = pick(5); n > 0; --n)
        values.push_back(integer());
      return builder.getDenseI64ArrayAttr(values);
    }
    case AttrKind::Choice:
      return builder.getStringAttr(row.choices[pick(row.numChoices)]);
    case AttrKind::String: {
      static const char *const equations[] = {"ij,jk->ik", "...i->...", "ii", "", "->", ",", "i...,j->ij"};
      return builder.getStringAttr(equations[pick(7)]);
    }
    default:
      return {};
    }
  }

  void one(const OpRow &row) {
    OperationState state(builder.getUnknownLoc(), row.name);
    int64_t operands = row.numOperands + (pick(20) ? 0 : pick(3) - 1);
    for (int64_t i = 0; i < operands; ++i)
      state.operands.push_back(value());
    for (const AttrRow &attr : row.attrRows())
      if (pick(2))
        if (Attribute a = attribute(attr))
          state.addAttribute(attr.name, a);
    unsigned results = row.numResults;
    for (unsigned i = 0; i < results; ++i)
      state.types.push_back(pick(3) ? Type(UnrankedTensorType::get(element())) : Type(builder.getNoneType()));
    Operation *op = builder.create(state);
    ShapeContext shapes(&context, /*quiet=*/true);
    SmallVector<Type> types;
    auto rule = dyn_cast<MoptOpInterface>(op);
    if (rule && succeeded(rule.inferTypes(shapes, types))) {
      ++succeededRules;
      EXPECT_EQ(types.size(), op->getNumResults()) << row.name;
      for (Type type : types)
        for (int64_t size : isa<RankedTensorType>(type) ? cast<RankedTensorType>(type).getShape() : ArrayRef<int64_t>())
          EXPECT_TRUE(size >= 0 || ShapedType::isDynamic(size)) << row.name;
    }
  }

  MLIRContext &context;
  OpBuilder builder;
  std::mt19937_64 random;

public:
  int succeededRules = 0;
};

TEST(ShapeRules, AnyOperands) {
  MLIRContext context;
  context.loadDialect<MoptDialect, func::FuncDialect>();
  Generator generator(context, 11);
  for (const OpRow &row : opTable())
    if (row.kind != OpKind::structure)
      generator.run(row, 400);
  EXPECT_GT(generator.succeededRules, 1000);
}

} // namespace
