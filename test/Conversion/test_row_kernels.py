"""Kernels that combine elements along axes (reductions, softmax, norms): values against onnxruntime, and the numeric
contract: bits do not depend on threads, on neighbours in the batch, or on where vectors end."""

from __future__ import annotations

import tempfile
import zlib

import mopt
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

KINDS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]
CPUS = ["x86-64-v2", "x86-64-v3"]


class Bundle:
    """Many cases in one model, as a compilation costs more than a run: nodes named apart, one output each."""

    def __init__(self, opset=21) -> None:
        self.opset, self.nodes, self.inputs, self.outputs, self.constants, self.fed = opset, [], [], [], {}, {}

    def add(self, root, x, dims=None, constants=(), extras=None, chain=()) -> str:
        """`root` reads "x", constants and extras (inputs of the model); `chain` follows it, the last node writes "y".
        dims: sizes or names; None: a name for every axis. Returns the name of the output."""
        number = len(self.outputs)
        constants, extras = dict(constants), dict(extras or {})
        dims = [f"d{i}" for i in range(x.ndim)] if dims is None else dims
        own = [size if isinstance(size, int) else f"{size}_{number}" for size in dims]
        self._input(f"x_{number}", x, own)
        for name, value in extras.items():
            self._input(f"{name}_{number}", value, value.shape)
        for name, value in constants.items():
            self.constants[f"{name}_{number}"] = value
        for given in (root, *chain):
            node = onnx.NodeProto()
            node.CopyFrom(given)
            for names in (node.input, node.output):
                names[:] = [f"{name}_{number}" if name else "" for name in names]
            self.nodes.append(node)
        self.outputs.append(f"y_{number}")
        return self.outputs[-1]

    def _input(self, name, value, dims) -> None:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims)))
        self.fed[name] = value

    def model(self) -> bytes:
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs]
        initializers = [onnx.numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", self.inputs, results, initializers)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        return onnx.shape_inference.infer_shapes(made).SerializeToString()

    def run(self, cpu="") -> dict[str, np.ndarray]:
        """Compiles and runs; three threads give the same bits as one."""
        compiled = mopt.compile(self.model(), cpu=cpu)
        results = compiled.run(self.fed)
        with tempfile.TemporaryDirectory() as folder:
            compiled.save(f"{folder}/model.so")
            again = mopt.load(f"{folder}/model.so", threads=3).run(self.fed)
        for name, value in results.items():
            assert again[name].tobytes() == value.tobytes(), name
        return results

    def check(self, cpu="", rtol=3e-6, atol=2e-6) -> None:
        session = onnxruntime.InferenceSession(self.model(), providers=["CPUExecutionProvider"])
        expected = session.run(self.outputs, self.fed)
        actual = self.run(cpu)
        for name, value in zip(self.outputs, expected, strict=True):
            assert actual[name].shape == value.shape
            np.testing.assert_allclose(actual[name], value, rtol=rtol, atol=atol, err_msg=name)


def run_one(root, x, dims=None, constants=(), opset=21) -> np.ndarray:
    bundle = Bundle(opset)
    name = bundle.add(root, x, dims, constants)
    return bundle.run()[name]


def values(seed: str, *shape, low=-1.0, high=1.0) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(seed.encode())).uniform(low, high, shape).astype(np.float32)


def reduction(kind, axes, keepdims=0, **attributes):
    """The node, and its axes as constants of the bundle."""
    constants = {"axes": np.array(axes, np.int64)} if axes is not None else {}
    return helper.make_node("Reduce" + kind, ["x", *constants], ["y"], keepdims=keepdims, **attributes), constants


# Sizes around the vector (16), a step of a row (64) and a part of it (4096), and of a column (64).
SHAPES = [
    ((5, 7), [1]), ((3, 16), [-1]), ((2, 63), [1]), ((2, 81), [1]), ((2, 4096 + 70), [1]), ((65, 9), [0]), ((200, 17), [0]),
    ((3, 7, 7, 24), [1, 2]), ((2, 5, 5, 80), [1, 2]), ((2, 6, 3, 5), [0, 2]), ((2, 6, 3, 5), [1, 3]), ((3, 4, 70), [0, 1, 2]),
    ((1, 1, 1), [1]), ((1, 5, 1), [1]), ((3, 1, 40), [2]), ((1, 130), [0]),
]  # fmt: skip


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("kind", KINDS)
def test_reductions(kind, cpu):
    bundle = Bundle()
    for shape, axes in SHAPES:
        low = 0.5 if kind in ("LogSum", "Prod") else -1
        x = values(f"{kind}{shape}", *shape, low=low, high=1.5 if kind == "Prod" else 1)
        for keepdims, dims in ((0, None), (1, None), (1, shape)):
            node, constants = reduction(kind, axes, keepdims)
            bundle.add(node, x, dims, constants)
    bundle.check(cpu, rtol=1e-5, atol=2e-5)


def test_reduction_over_all_axes_and_none():
    bundle, x = Bundle(), values("all", 3, 20)
    for keepdims in (0, 1):
        node, _ = reduction("Sum", None, keepdims)
        bundle.add(node, x)
        bundle.add(node, x, x.shape)
    node, constants = reduction("L1", [], 1, noop_with_empty_axes=1)
    bundle.add(node, x, None, constants)
    bundle.check(rtol=1e-5)
    node, constants = reduction("L2", [], 1, noop_with_empty_axes=1)
    assert run_one(node, x, None, constants).tobytes() == np.sqrt(x * x).tobytes()


def test_reduction_axes_as_attribute():
    bundle = Bundle(opset=13)
    bundle.add(helper.make_node("ReduceMean", ["x"], ["y"], axes=[1, -1], keepdims=0), values("attribute", 2, 4, 3, 33))
    bundle.check()


@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_nan_is_the_result_wherever_it_stands(kind):
    bundle = Bundle()
    for size in (5, 40, 200):
        for place in range(0, size, 7):
            x = values("nan", 2, size)
            x[0, place] = np.nan
            for given, axes in ((x, [1]), (np.ascontiguousarray(x.T), [0])):
                node, constants = reduction(kind, axes)
                bundle.add(node, given, given.shape, constants)
    for name, value in bundle.run().items():
        assert np.isnan(value).tolist() == [True, False], name


def test_empty_axes_and_tensors():
    bundle, empty = Bundle(), np.zeros((3, 0), np.float32)
    expected = {}
    for kind, first in (("Sum", 0), ("Max", -np.inf), ("Min", np.inf), ("Prod", 1)):
        for axis, result in ((1, [first] * 3), (0, [])):
            node, constants = reduction(kind, [axis])
            expected[bundle.add(node, empty, None, constants)] = result
    for axis in (0, 1):
        expected[bundle.add(helper.make_node("Softmax", ["x"], ["y"], axis=axis), empty)] = [[], [], []]
    results = bundle.run()
    for name, value in expected.items():
        assert results[name].tolist() == value, name


def test_long_sums_are_accurate():
    """Three million equal values: a single chain of additions would be off by percents."""
    count, tenth = 3_000_000, float(np.float32(0.1))
    bundle, expected = Bundle(), {}
    for shape, axis in (((1, count), 1), ((count, 1), 0), ((100_000, 20), 0)):
        x = np.full(shape, 0.1, np.float32)
        for dims in (shape, None):
            for kind, factor in (("Sum", shape[axis]), ("Mean", 1)):
                node, constants = reduction(kind, [axis])
                expected[bundle.add(node, x, dims, constants)] = factor * tenth
    results = bundle.run()
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=1e-6, err_msg=name)


def test_global_pooling():
    bundle = Bundle()
    for shape in ((2, 5, 7, 7), (1, 3, 70), (2, 3, 2, 3, 4)):
        for pool in ("GlobalAveragePool", "GlobalMaxPool"):
            bundle.add(helper.make_node(pool, ["x"], ["y"]), values(pool, *shape), ("n", *shape[1:]))
    for p in (1, 2, 3):  # 3 has no kernel
        bundle.add(helper.make_node("GlobalLpPool", ["x"], ["y"], p=p), values("lp", 2, 3, 9), (2, 3, 9))
    bundle.check()


@pytest.mark.parametrize("cpu", CPUS)
def test_softmax(cpu):
    bundle = Bundle()
    for shape, axis in (
        ((3, 5), 1), ((3, 128), -1), ((2, 3, 33), 2), ((2, 9, 5), 1), ((70, 3), 0), ((2, 100, 80), 1), ((1, 4100), 1), ((4, 1), 1),
        ((2, 5, 7, 19), -2),
    ):  # fmt: skip
        for op in ("Softmax", "LogSoftmax"):
            node = helper.make_node(op, ["x"], ["y"], axis=axis)
            for dims in (None, shape):
                bundle.add(node, values(f"{op}{shape}", *shape, low=-20, high=20), dims)
    bundle.check(cpu, rtol=4e-6, atol=3e-6)


def test_old_softmax_takes_axes_as_one():
    bundle = Bundle(opset=11)
    for op in ("Softmax", "LogSoftmax"):
        for axis in (0, 1, 2, -1):
            bundle.add(helper.make_node(op, ["x"], ["y"], axis=axis), values("old", 3, 4, 5), ("a", "b", 5))
    bundle.check()


def test_softmax_of_what_is_not_finite():
    x = values("infinite", 4, 50)
    x[0, 3], x[1, 48], x[2, :] = np.nan, np.inf, -np.inf
    x[3, 7] = -np.inf
    y = run_one(helper.make_node("Softmax", ["x"], ["y"]), x)
    assert np.isnan(y[:3]).all(axis=1).tolist() == [True, True, True]
    assert y[3, 7] == 0 and abs(y[3].sum() - 1) < 1e-6


@pytest.mark.parametrize("cpu", CPUS)
def test_layer_norm(cpu):
    bundle = Bundle()
    for shape, axis, bias in (
        ((3, 384), -1, True), ((2, 3, 50), -1, False), ((2, 3, 5, 7), 2, True), ((2, 3, 20), 1, True), ((2, 4100), 1, True),
    ):  # fmt: skip
        constants = {"scale": values("scale", *shape[axis:], low=0.5, high=2)}
        if bias:
            constants["bias"] = values("bias", *shape[axis:])
        node = helper.make_node("LayerNormalization", ["x", *constants], ["y"], axis=axis)
        for dims in (shape, ("n", *shape[1:])):
            bundle.add(node, values("x", *shape) + 3, dims, constants)
    # Statistics that are read: no kernel.
    node = helper.make_node("LayerNormalization", ["x", "scale"], ["z", "mean"])
    chain = [helper.make_node("Add", ["z", "mean"], ["y"])]
    bundle.add(node, values("x", 3, 20), ("n", 20), {"scale": values("s", 20)}, chain=chain)
    bundle.check(cpu, rtol=1e-5, atol=2e-5)


def test_layer_norm_whose_scale_differs_between_rows():
    scale, bias, x = values("rows", 3, 20), values("one", 1), values("broadcast", 2, 3, 20)
    node = helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"])
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias
    actual = run_one(node, x, x.shape, {"scale": scale, "bias": bias})
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_rms_norm():
    x, scale = values("rms", 2, 3, 100), values("scale", 100)
    node = helper.make_node("RMSNormalization", ["x", "scale"], ["y"], axis=-1, epsilon=1e-6)
    expected = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6) * scale
    np.testing.assert_allclose(run_one(node, x, ("a", "b", 100), {"scale": scale}, opset=23), expected, rtol=3e-6)


def test_instance_and_group_norm():
    bundle = Bundle()
    constants = {"scale": values("scale", 6), "bias": values("bias", 6)}
    for shape in ((2, 6, 7, 9), (1, 6, 100), (3, 6, 1)):
        dims = ("n", 6, *(f"s{i}" for i in range(len(shape) - 2)))
        nodes = [helper.make_node("InstanceNormalization", ["x", "scale", "bias"], ["y"])]
        for groups in (1, 2, 6):
            nodes.append(helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=groups))
        for node in nodes:
            bundle.add(node, values("x", *shape) + 2, dims, constants)
    bundle.check(rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_epilogues_read_operands_of_every_shape(axis):
    bundle, shape = Bundle(), (2, 3, 20, 35)
    for op in ("Softmax", "ReduceMean 0", "ReduceMean 1"):
        constants = {"one": np.ones((), np.float32), "axes": np.array([axis], np.int64)}
        if op == "Softmax":
            root, result = helper.make_node(op, ["x"], ["r"], axis=axis), list(shape)
        else:
            keep = int(op[-1])
            root = helper.make_node("ReduceMean", ["x", "axes"], ["r"], keepdims=keep)
            result = [*shape[:axis], *([1] * keep), *shape[axis + 1 :]]
        chain = [
            helper.make_node("Mul", ["r", "e"], ["m"]),
            helper.make_node("Add", ["m", "one"], ["s"]),
            helper.make_node("Relu", ["s"], ["y"]),
        ]
        for pattern in range(2 ** len(result)):
            extra = [size if pattern >> i & 1 else 1 for i, size in enumerate(result)]
            bundle.add(root, values("x", *shape), shape, constants, {"e": values(str(extra), *extra)}, chain)
    bundle.check(rtol=1e-5, atol=3e-6)


def test_a_row_has_the_same_bits_alone_and_in_a_batch():
    constants = {"scale": values("scale", 45), "axes": np.array([1], np.int64), "last": np.array([2], np.int64)}
    x = values("batch", 37, 21, 45)
    for root in (
        helper.make_node("Softmax", ["x"], ["y"]),
        helper.make_node("Softmax", ["x"], ["y"], axis=1),
        helper.make_node("LayerNormalization", ["x", "scale"], ["y"]),
        helper.make_node("ReduceMean", ["x", "axes"], ["y"]),
        helper.make_node("ReduceL2", ["x", "last"], ["y"], keepdims=0),
    ):
        bundle = Bundle()
        bundle.add(root, x, ("n", "s", 45), constants)
        compiled = mopt.compile(bundle.model())
        whole = compiled.run({"x_0": x})["y_0"]
        for row in (0, 17, 36):
            assert compiled.run({"x_0": x[row : row + 1]})["y_0"].tobytes() == whole[row : row + 1].tobytes()


def test_columns_have_the_same_bits_wherever_a_vector_ends():
    x = values("columns", 130, 90)
    for root in (helper.make_node("ReduceSum", ["x", "axes"], ["y"]), helper.make_node("Softmax", ["x"], ["y"], axis=0)):
        bundle = Bundle()
        bundle.add(root, x, None, {"axes": np.array([0], np.int64)})
        compiled = mopt.compile(bundle.model())
        whole = compiled.run({"x_0": x})["y_0"]
        for columns in (1, 15, 17, 63, 65, 89):
            part = compiled.run({"x_0": np.ascontiguousarray(x[:, :columns])})["y_0"]
            assert part.tobytes() == np.ascontiguousarray(whole[:, :columns]).tobytes()


def test_bits_do_not_depend_on_what_is_known_of_sizes():
    x, bundle, pairs = values("known", 3, 5000), Bundle(), []
    for axis in (0, 1):
        given = np.ascontiguousarray(x if axis else x.T)
        for kind in ("Sum", "L2"):
            node, constants = reduction(kind, [axis])
            pairs.append([bundle.add(node, given, dims, constants) for dims in (given.shape, None)])
    results = bundle.run()
    for known, unknown in pairs:
        assert results[known].tobytes() == results[unknown].tobytes()
