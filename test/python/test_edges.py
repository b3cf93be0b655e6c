"""Answers at the edges: empty tensors, NaN, sizes that only a run can refuse, handles that come and go."""

from __future__ import annotations

import mopt
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, constants=()):
    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(
        nodes,
        "edges",
        [value(*item) for item in inputs],
        [value(*item) for item in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


F, I32 = TensorProto.FLOAT, TensorProto.INT32


@pytest.mark.parametrize(
    ("kind", "expected"), [("ReduceMax", np.iinfo(np.int32).min), ("ReduceMin", np.iinfo(np.int32).max)]
)
def test_extreme_of_nothing_is_that_of_the_element_type(kind, expected):
    node = helper.make_node(kind, ["x", "axes"], ["y"], keepdims=0)
    compiled = mopt.compile(model([node], [("x", I32, ["n", 2])], [("y", I32, [2])], [("axes", np.int64([0]))]))
    np.testing.assert_array_equal(compiled.run({"x": np.zeros((0, 2), np.int32)})["y"], [expected] * 2)


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
