//===- InterpreterTest.cpp - functions run with the reference functions -------------------------------------------===//
#include "mopt/Analysis/Interpreter.h"
#include "mlir/Parser/Parser.h"
#include "mopt/Runtime/mopt_abi.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mopt;

namespace {

class InterpreterTest : public ::testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<MoptDialect, func::FuncDialect>();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      reported.push_back(diagnostic.str());
      return success();
    });
  }
  func::FuncOp parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module);
    return module ? modelFunction(*module) : func::FuncOp();
  }
  template <class T> static TensorData tensor(int32_t dtype, ArrayRef<int64_t> dims, ArrayRef<T> values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return TensorData::own(dtype, dims, std::move(bytes));
  }
  static TensorData floats(ArrayRef<int64_t> dims, ArrayRef<float> values) { return tensor(MOPT_F32, dims, values); }
  static std::vector<float> valuesOf(const TensorData &tensor) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  /// The error of an evaluation that has to fail.
  std::string errorOf(func::FuncOp func, ArrayRef<TensorData> inputs, InterpreterOptions options = {}) {
    Interpreter interpreter(&context, options);
    EXPECT_TRUE(failed(interpreter.evaluate(func, inputs)));
    return interpreter.lastError().str();
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  std::vector<std::string> reported;
};

const char *const sum = R"(
func.func @main(%x: tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "x"},
                %z: tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "z"})
    -> (tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "y"}) {
  %y = mopt.add %x, %z : (tensor<?x3xf32, #mopt.dims<[n, 3]>>, tensor<?x3xf32, #mopt.dims<[n, 3]>>)
      -> tensor<?x3xf32, #mopt.dims<[n, 3]>> loc("sum")
  return %y : tensor<?x3xf32, #mopt.dims<[n, 3]>>
}
)";

TEST_F(InterpreterTest, SizesFollowFromTheInputs) {
  func::FuncOp func = parse(sum);
  Interpreter interpreter(&context);
  for (int64_t n : {2, 0, 1}) { // one interpreter: nothing of a run before is left
    std::vector<float> x(n * 3, 1.5f), z(n * 3, 2);
    auto results = interpreter.evaluate(func, ArrayRef<TensorData>{floats({n, 3}, x), floats({n, 3}, z)});
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ((SmallVector<int64_t>{n, 3}), (*results)[0].dims);
    EXPECT_EQ(std::vector<float>(n * 3, 3.5f), valuesOf((*results)[0]));
  }
  EXPECT_TRUE(reported.empty());
}

TEST_F(InterpreterTest, EqualSymbolsAreEqualSizes) {
  func::FuncOp func = parse(sum);
  std::string error = errorOf(func, {floats({2, 3}, {0, 0, 0, 0, 0, 0}), floats({1, 3}, {0, 0, 0})});
  EXPECT_TRUE(StringRef(error).starts_with("MOPT-V004: input 'z'")) << error;
  EXPECT_TRUE(StringRef(error).contains("[1, 3]")) << error;
}

TEST_F(InterpreterTest, InputsHaveToFit) {
  func::FuncOp func = parse(sum);
  TensorData good = floats({1, 3}, {0, 0, 0});
  auto startsWith = [](const std::string &text, StringRef start) { return StringRef(text).starts_with(start); };
  EXPECT_TRUE(startsWith(errorOf(func, {good, floats({1, 4}, {0, 0, 0, 0})}), "MOPT-V004: input 'z'"));
  EXPECT_TRUE(startsWith(errorOf(func, {floats({3}, {0, 0, 0}), good}), "MOPT-V004: input 'x'"));
  EXPECT_TRUE(startsWith(errorOf(func, {good, tensor<int32_t>(MOPT_I32, {1, 3}, {0, 0, 0})}), "MOPT-V004: input 'z'"));
  EXPECT_EQ("MOPT-V004: the model takes 2 inputs, found 1", StringRef(errorOf(func, {good})).split(" (node").first);
  std::string absent = errorOf(func, {good, TensorData()});
  EXPECT_TRUE(startsWith(absent, "MOPT-V004: input 'z' has no value")) << absent;
}

TEST_F(InterpreterTest, InputsByName) {
  func::FuncOp func = parse(sum);
  Interpreter interpreter(&context);
  std::map<std::string, TensorData> inputs{{"z", floats({1, 3}, {1, 2, 3})}, {"x", floats({1, 3}, {10, 20, 30})}};
  auto results = interpreter.evaluate(func, inputs);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((std::vector<float>{11, 22, 33}), valuesOf((*results)[0]));
  inputs["w"] = inputs["x"];
  EXPECT_TRUE(failed(interpreter.evaluate(func, inputs)));
  EXPECT_TRUE(interpreter.lastError().starts_with("MOPT-V004: the model has no input 'w'"));
  inputs.erase("w");
  inputs.erase("x");
  EXPECT_TRUE(failed(interpreter.evaluate(func, inputs)));
  EXPECT_TRUE(interpreter.lastError().starts_with("MOPT-V004: input 'x' has no value"));
}

TEST_F(InterpreterTest, OperandsMayBeAbsent) {
  // A convolution of all-one weights without and with its optional bias.
  auto run = [&](StringRef biasType, StringRef bias) {
    std::string text =
        (Twine("func.func @main(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32> {\n") +
         "  %w = mopt.constant {value = dense<1.0> : tensor<1x1x2x2xf32>} : tensor<1x1x2x2xf32>\n" + "  %b = " + bias +
         " : " + biasType + "\n" + "  %y = mopt.conv %x, %w, %b : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, " + biasType +
         ") -> tensor<1x1x1x1xf32>\n  return %y : tensor<1x1x1x1xf32>\n}")
            .str();
    func::FuncOp func = parse(text);
    Interpreter interpreter(&context);
    auto results = interpreter.evaluate(func, ArrayRef<TensorData>{floats({1, 1, 2, 2}, {1, 2, 3, 4})});
    return succeeded(results) ? valuesOf((*results)[0]) : std::vector<float>();
  };
  EXPECT_EQ(std::vector<float>{10}, run("none", "mopt.none"));
  EXPECT_EQ(std::vector<float>{15}, run("tensor<1xf32>", "mopt.constant {value = dense<5.0> : tensor<1xf32>}"));
}

const char *const lookUp = R"(
func.func @main(%i: tensor<?x1xi64, #mopt.dims<[n, 1]>> {mopt.name = "i"}) -> tensor<?x1xf32, #mopt.dims<[n, 1]>> {
  %table = mopt.constant {value = dense<[1.0, 2.0, 4.0]> : tensor<3xf32>} : tensor<3xf32>
  %y = mopt.gather %table, %i {axis = 0 : i64} : (tensor<3xf32>, tensor<?x1xi64, #mopt.dims<[n, 1]>>)
      -> tensor<?x1xf32, #mopt.dims<[n, 1]>> loc("look_up")
  return %y : tensor<?x1xf32, #mopt.dims<[n, 1]>>
}
)";

TEST_F(InterpreterTest, ErrorsNameTheNodeAndTheValue) {
  func::FuncOp func = parse(lookUp);
  auto indices = [](int64_t a, int64_t b) { return tensor<int64_t>(MOPT_I64, {2, 1}, {a, b}); };
  Interpreter interpreter(&context);
  auto results = interpreter.evaluate(func, ArrayRef<TensorData>{indices(2, -3)});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((std::vector<float>{4, 1}), valuesOf((*results)[0]));
  std::string error = errorOf(func, {indices(0, 7)});
  EXPECT_EQ("MOPT-V002: mopt.gather: an index is outside the axis: operand 1, got 7, limit 3 (node 'look_up')", error);
  ASSERT_EQ(1u, reported.size());
  EXPECT_EQ(error, reported[0]);
  reported.clear();
  InterpreterOptions silent;
  silent.silent = true;
  EXPECT_EQ(error, errorOf(func, {indices(0, 7)}, silent));
  EXPECT_TRUE(reported.empty());
}

TEST_F(InterpreterTest, RulesSeeTheValuesOfShortVectors) {
  // The shape rule of the op refuses what it would refuse of a constant, before anything runs.
  func::FuncOp func = parse(R"(
func.func @main(%x: tensor<6xf32>, %shape: tensor<2xi64>) -> tensor<?x?xf32, #mopt.dims<[a, b]>> {
  %y = mopt.reshape %x, %shape : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32, #mopt.dims<[a, b]>> loc("new_shape")
  return %y : tensor<?x?xf32, #mopt.dims<[a, b]>>
}
)");
  TensorData x = floats({6}, {1, 2, 3, 4, 5, 6});
  auto shape = [](int64_t a, int64_t b) { return tensor<int64_t>(MOPT_I64, {2}, {a, b}); };
  Interpreter interpreter(&context);
  for (int64_t rows : {2, 3, -1}) {
    auto results = interpreter.evaluate(func, ArrayRef<TensorData>{x, shape(rows, rows < 0 ? 2 : 6 / rows)});
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ((SmallVector<int64_t>{rows < 0 ? 3 : rows, rows < 0 ? 2 : 6 / rows}), (*results)[0].dims);
  }
  EXPECT_EQ("MOPT-V006: the sizes of mopt.reshape do not fit (node 'new_shape')", errorOf(func, {x, shape(4, 2)}));
}

TEST_F(InterpreterTest, MemoryIsLimitedAndGivenBack) {
  func::FuncOp func = parse(sum);
  TensorData x = floats({4, 3}, std::vector<float>(12, 1));
  InterpreterOptions options;
  options.maxLiveBytes = 47; // the result has 48
  EXPECT_TRUE(StringRef(errorOf(func, {x, x}, options)).starts_with("MOPT-V003")) << "beyond the limit";
  options.maxLiveBytes = 48;
  Interpreter interpreter(&context, options);
  for (int round = 0; round < 3; ++round) {
    auto results = interpreter.evaluate(func, ArrayRef<TensorData>{x, x});
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ(48, interpreter.liveBytes());
    results = failure();
    EXPECT_EQ(0, interpreter.liveBytes());
  }
}

TEST_F(InterpreterTest, GroupsAreEvaluatedAndTheCallbackSeesEveryOp) {
  func::FuncOp func = parse(R"(
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = mopt.group "none" {
    %a = mopt.neg %x : (tensor<2xf32>) -> tensor<2xf32> loc("minus")
    %b = mopt.relu %a : (tensor<2xf32>) -> tensor<2xf32> loc("positive")
    mopt.yield %b : tensor<2xf32>
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}
)");
  ASSERT_TRUE(func);
  Interpreter interpreter(&context);
  std::map<std::string, std::vector<float>> seen;
  auto results = interpreter.evaluate(func, ArrayRef<TensorData>{floats({2}, {1, -2})},
                                      [&](Operation *op, ArrayRef<TensorData> values) {
                                        seen[op->getName().getStringRef().str()] = valuesOf(values[0]);
                                        return success();
                                      });
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((std::vector<float>{0, 2}), valuesOf((*results)[0]));
  EXPECT_EQ((std::vector<float>{-1, 2}), seen["mopt.neg"]);
  EXPECT_EQ((std::vector<float>{0, 2}), seen["mopt.group"]);
  // A callback that has seen enough ends the evaluation.
  EXPECT_TRUE(failed(interpreter.evaluate(func, ArrayRef<TensorData>{floats({2}, {1, -2})},
                                          [](Operation *, ArrayRef<TensorData>) { return failure(); })));
}

TEST_F(InterpreterTest, OpsOfOtherDialectsAreRefused) {
  context.allowUnregisteredDialects();
  func::FuncOp func = parse(R"(
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "other.op"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("stranger")
  return %y : tensor<2xf32>
}
)");
  EXPECT_EQ("MOPT-V001: other.op has no reference function (node 'stranger')", errorOf(func, {floats({2}, {1, 2})}));
}

} // namespace
