"""Answers at the edges: empty tensors, NaN, sizes that only a run can refuse, handles that come and go."""

from __future__ import annotations

import mopt
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, constants=(), opset=20):
    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(
        nodes,
        "edges",
        [value(*item) for item in inputs],
        [value(*item) for item in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9 if opset < 22 else 10)


F, I32, I64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64


def one(node, x, expected, kind=F, constants=(), opset=20, static=True):
    """One node with one input, whose sizes are known when it is compiled, or only when it runs."""
    x, expected = np.asarray(x), np.asarray(expected)
    sizes = [n if static else f"n{i}" for i, n in enumerate(x.shape)]
    compiled = mopt.compile(model([node], [("x", F, sizes)], [("y", kind, None)], constants, opset))
    result = compiled.run({"x": x})["y"]
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "expected"), [("ReduceMax", np.iinfo(np.int32).min), ("ReduceMin", np.iinfo(np.int32).max)]
)
def test_extreme_of_nothing_is_that_of_the_element_type(kind, expected):
    node = helper.make_node(kind, ["x", "axes"], ["y"], keepdims=0)
    compiled = mopt.compile(model([node], [("x", I32, ["n", 2])], [("y", I32, [2])], [("axes", np.int64([0]))]))
    np.testing.assert_array_equal(compiled.run({"x": np.zeros((0, 2), np.int32)})["y"], [expected] * 2)


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("front", [(1,), (1, 1)])
def test_slope_with_more_axes_than_its_operand(front, static):
    x, slope = np.float32([[-1, 2, -3], [4, -5, 6]]), np.float32([1, 2, 3]).reshape(*front, 3)
    node = helper.make_node("PRelu", ["x", "s"], ["y"])
    one(node, x, np.where(x < 0, x * slope, x), constants=[("s", slope)], static=static)


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("pads", [(-3, 2), (-4, 3), (2, -3), (3, -5), (-7, 7), (-2, 1), (1, -4), (-3, 0)])
def test_pads_that_cut_everything_away(pads, static):
    before, after = pads
    x = np.float32([1, 2, 3])
    at = np.arange(3 + before + after) - before  # position in x
    expected = np.where((at >= 0) & (at < 3), x[np.clip(at, 0, 2)], np.float32(9))
    node = helper.make_node("Pad", ["x", "p", "v"], ["y"])
    one(node, x, expected, constants=[("p", np.int64(pads)), ("v", np.float32(9))], static=static)


def test_pads_with_nothing_left_to_repeat():
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode="edge")
    build = lambda sizes: mopt.compile(model([node], [("x", F, sizes)], [("y", F, None)], [("p", np.int64([-3, 2]))]))
    with pytest.raises(mopt.MoptError, match="MOPT-S012"):
        build([3])
    with pytest.raises(mopt.MoptError, match="MOPT-R"):
        build(["n"]).run({"x": np.float32([1, 2, 3])})


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_extreme_of_a_scalar(kind, axis, keepdims):
    one(helper.make_node(kind, ["x"], ["y"], axis=axis, keepdims=keepdims), np.float32(3), np.int64(0), I64)


def test_sum_of_a_scalar_along_its_axis():
    one(helper.make_node("ReduceSum", ["x", "a"], ["y"]), np.float32(3), np.float32(3), constants=[("a", np.int64([-1]))])


@pytest.mark.parametrize("opset", [18, 21])
def test_groups_with_one_scale_for_all(opset):
    x = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    groups = x.reshape(2, 2, 6)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    constants = [("s", np.float32([3])), ("b", np.float32([0.5]))]
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)
    one(node, x, normal.reshape(x.shape) * 3 + 0.5, constants=constants, opset=opset)


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [(-10, -11, -1, [0]), (-4, -(2**63), -1, [0]), (-(2**63), -(2**63), -2, [0]), (-3, -(2**63), -1, [0]),
     (-2, -(2**63), -1, [1, 0]), (5, -10, -2, [2, 0]), (-10, 10, 2, [0, 2])],
)  # fmt: skip
def test_slices_from_before_the_first_element(start, end, step, expected, static):
    constants = [(name, np.int64([value])) for name, value in zip("seat", (start, end, 0, step), strict=True)]
    node = helper.make_node("Slice", ["x", *"seat"], ["y"])
    one(node, np.float32([0, 1, 2]), np.float32(expected), constants=constants, static=static)


@pytest.mark.parametrize("shape", [(1, 3_000_000), (1_000_000, 3)])
def test_long_sums(shape):
    x = np.full(shape, 0.1, np.float32)
    axis = int(np.argmax(shape))
    expected = x.sum(axis, np.float64)
    one(helper.make_node("ReduceSum", ["x", "a"], ["y"], keepdims=0), x, expected, constants=[("a", np.int64([axis]))])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("DCR", [0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15]),
     ("CRD", [0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15])],
)  # fmt: skip
def test_orders_of_space_to_depth(mode, expected):
    node = helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode=mode)
    x = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    one(node, x, np.float32(expected).reshape(1, 8, 1, 2), opset=28)


def test_outputs_may_be_anything_and_any_number_of_times():
    nodes = [helper.make_node("Relu", ["x"], ["r"])]
    names = ["r", "x", "c", "r", "x", "c"]
    compiled = mopt.compile(
        model(nodes, [("x", F, ["n"])], [(name, F, ["n"]) for name in names], [("c", np.float32([7, 8]))])
    )
    assert [info.name for info in compiled.outputs] == names
    x = np.float32([-1, 2])
    results = compiled.run({"x": x})
    for name, value in {"r": np.maximum(x, 0), "x": x, "c": np.float32([7, 8])}.items():
        np.testing.assert_array_equal(results[name], value)


def test_nan_is_not_above_a_threshold():
    node = helper.make_node("ThresholdedRelu", ["x"], ["y"], alpha=-1.0)
    compiled = mopt.compile(model([node], [("x", F, [3])], [("y", F, [3])]))
    np.testing.assert_array_equal(compiled.run({"x": np.float32([np.nan, -2, 2])})["y"], [0, 0, 2])


@pytest.mark.parametrize("size", [0, 1, 2])
def test_operands_must_fit_also_when_the_result_is_empty(size):
    node = helper.make_node("Add", ["x", "c"], ["y"])
    compiled = mopt.compile(model([node], [("x", F, ["n"])], [("y", F, [0])], [("c", np.zeros(0, np.float32))]))
    x = {"x": np.ones(size, np.float32)}
    if size < 2:
        assert compiled.run(x)["y"].shape == (0,)
    else:
        with pytest.raises(mopt.MoptError, match="MOPT-R"):
            compiled.run(x)


def test_inner_sizes_of_an_empty_product_must_agree():
    compiled = mopt.compile(
        model(
            [helper.make_node("MatMul", ["a", "b"], ["y"])], [("a", F, ["m", "k"]), ("b", F, ["l", 2])], [("y", F, ["m", 2])]
        )
    )
    with pytest.raises(mopt.MoptError, match="MOPT-R"):
        compiled.run({"a": np.ones((0, 1), np.float32), "b": np.ones((2, 2), np.float32)})


def test_a_handle_that_went_leaves_no_name_to_another_file(tmp_path):
    def save(factor):
        node = helper.make_node("Mul", ["x", "c"], ["y"])
        path = tmp_path / f"{factor}.so"
        mopt.compile(model([node], [("x", F, [2])], [("y", F, [2])], [("c", np.float32([factor, factor]))])).save(path)
        return path

    two, three = save(2), save(3)
    first, second = mopt.load(two), mopt.load(two)
    del first
    other = mopt.load(three)
    x = {"x": np.ones(2, np.float32)}
    np.testing.assert_array_equal(other.run(x)["y"], [3, 3])
    np.testing.assert_array_equal(second.run(x)["y"], [2, 2])
