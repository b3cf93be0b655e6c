"""The numeric contract, for every kernel over random sizes: bits do not depend on threads, on neighbours in the batch, on
register tiles or on where vectors end; values are those of onnxruntime. A kernel op without a row in KERNELS fails."""

import re
import subprocess
from pathlib import Path

import mopt
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.skipif(not hasattr(mopt._core, "compile_bytes"), reason="the module was built without the compiler")

ROOT = Path(__file__).resolve().parents[2]
BATCH = 5
TILES = [(1, 1), (3, 2), (8, 1), (2, 4)]


class Model:
    """Random cases of one kernel side by side: each reads inputs [n, ...] and writes an output."""

    def __init__(self, rng, opset=21) -> None:
        self.rng, self.opset = rng, opset
        self.nodes, self.inputs, self.outputs, self.constants, self.fed = [], [], [], [], {}

    def size(self, low, high) -> int:
        return int(self.rng.integers(low, high + 1))

    def pick(self, *choices):
        return choices[self.size(0, len(choices) - 1)]

    def floats(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def input(self, array) -> str:
        """An input of the model; all share the batch axis."""
        name = f"x{len(self.inputs)}"
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["n", *array.shape[1:]]))
        self.fed[name] = array
        return name

    def batch(self, *shape) -> str:
        return self.input(self.floats(BATCH, *shape))

    def constant(self, array) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, kind, *inputs, **attributes) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"{kind}_{name}", **attributes))
        return name

    def image(self, channels, *sizes) -> str:
        """An image that lies channels last outside, so that the kernel for it is chosen whatever a transpose costs."""
        rank = len(sizes) + 2
        return self.node("Transpose", self.batch(*sizes, channels), perm=[0, rank - 1, *range(1, rank - 1)])

    def image_output(self, name, axes) -> None:
        self.output(self.node("Transpose", name, perm=[0, *range(2, axes + 2), 1]))

    def output(self, name) -> None:
        """Of the kernel, with an epilogue that is cheap or not, and sometimes none."""
        end = self.pick(None, "Relu", "Sigmoid", "Erf")
        self.outputs.append(self.node(end, name) if end else name)

    def proto(self):
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, results, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


def matmul(m):
    k, n = m.size(1, 140), m.size(1, 150)
    product = m.node("MatMul", m.batch(m.size(1, 12), k), m.constant(m.floats(k, n)))
    m.output(m.node("Add", product, m.constant(m.floats(n))))


def pack(m):
    rows, k, n = m.size(1, 9), m.size(1, 40), m.size(1, 60)
    m.output(m.node("MatMul", m.batch(rows, k), m.batch(k, n)))


def window(m, axes):
    kernel = [m.size(1, 3) for _ in range(axes)]
    stride, dilation = m.size(1, 2), m.size(1, 2)
    pads = [m.size(0, k - 1) for k in kernel]
    return {"kernel_shape": kernel, "strides": [stride] * axes, "dilations": [dilation] * axes, "pads": pads * 2}


def conv(m):
    axes, group = m.size(1, 2), m.pick(1, 1, 3)
    channels, outputs = m.size(4, 20) * group, m.size(4, 24) * group
    attributes = window(m, axes)
    weights = m.floats(outputs, channels // group, *attributes["kernel_shape"])
    x = m.image(channels, *[m.size(6, 15) for _ in range(axes)])
    # A kernel of one pixel would be a matrix product.
    if attributes["kernel_shape"] == [1] * axes:
        attributes["strides"] = [2] * axes
    m.image_output(m.node("Conv", x, m.constant(weights), m.constant(m.floats(outputs)), group=group, **attributes), axes)


def depthwise(m):
    channels, attributes = m.size(2, 50), window(m, 2)
    weights = m.constant(m.floats(channels, 1, *attributes["kernel_shape"]))
    x = m.image(channels, m.size(6, 12), m.size(6, 20))
    m.image_output(m.node("Conv", x, weights, group=channels, **attributes), 2)


def conv_transpose(m):
    channels, outputs, kernel = m.size(1, 20), m.size(1, 40), [m.size(1, 3), m.size(2, 3)]
    weights = m.constant(m.floats(channels, outputs, *kernel))
    x = m.image(channels, m.size(1, 9), m.size(1, 9))
    m.image_output(m.node("ConvTranspose", x, weights, kernel_shape=kernel, strides=kernel), 2)


def reduce(m):
    kind = m.pick("Sum", "Mean", "Max", "Min", "L1", "L2", "LogSumExp", "SumSquare")
    shape, axes = [m.size(1, 20), m.size(1, 200)], m.constant(np.array(m.pick([1], [2], [1, 2]), np.int64))
    m.output(m.node("Reduce" + kind, m.batch(*shape), axes, keepdims=m.size(0, 1)))


def softmax(m):
    m.output(m.node(m.pick("Softmax", "LogSoftmax"), m.batch(m.size(1, 70), m.size(1, 200)), axis=m.size(1, 2)))


def norm(m):
    channels, pixels = 4 * m.size(1, 12), m.size(1, 90)
    scale, bias = m.constant(m.floats(channels)), m.constant(m.floats(channels))
    kind = m.pick("LayerNormalization", "InstanceNormalization", "GroupNormalization")
    if kind == "LayerNormalization":
        m.output(m.node(kind, m.batch(pixels, channels), scale, bias))
    elif kind == "InstanceNormalization":
        m.output(m.node(kind, m.batch(channels, pixels), scale, bias))
    else:
        m.output(m.node(kind, m.batch(channels, pixels), scale, bias, num_groups=m.pick(1, 2, 4)))


def pool(m):
    attributes = window(m, 2)
    m.output(m.node(m.pick("MaxPool", "AveragePool"), m.batch(m.size(1, 40), m.size(6, 15), m.size(6, 40)), **attributes))


def resize(m):
    mode = m.pick("nearest", "linear")  # whole factors of the nearest are moves
    scales = m.constant(np.array([1, 1, m.pick(0.5, 2, 3), m.pick(2, 1.5) if mode == "linear" else 1.5], np.float32))
    m.output(m.node("Resize", m.batch(m.size(1, 20), m.size(3, 9), m.size(3, 30)), "", scales, mode=mode))


def move(m):
    shape = [m.size(1, 30), m.size(1, 40)]
    kind = m.pick("Transpose", "Pad", "Slice", "Concat", "Tile")
    x = m.batch(*shape)
    if kind == "Transpose":
        m.output(m.node(kind, x, perm=[0, 2, 1]))
    elif kind == "Pad":
        m.output(m.node(kind, x, m.constant(np.array([0, 1, 2, 0, 0, 17], np.int64))))
    elif kind == "Slice":
        bounds = [m.constant(np.array(value, np.int64)) for value in ([0], [shape[1] // 2 + 1], [2], [1])]
        m.output(m.node(kind, x, *bounds))
    elif kind == "Concat":
        m.output(m.node(kind, x, m.batch(m.size(1, 9), shape[1]), axis=1))
    else:
        m.output(m.node(kind, x, m.constant(np.array([1, 2, 3], np.int64))))


def gather(m):
    rows, columns, count = m.size(1, 50), m.pick(1, 7, 40, 384), m.size(1, 12)
    table = m.constant(m.floats(rows, columns))
    indices = m.input(m.rng.integers(-rows, rows, (BATCH, count)).astype(m.pick(np.int64, np.int32)))
    taken = m.node("Gather", table, indices)
    m.output(m.node("Add", taken, m.constant(m.floats(1, count, columns))))


KERNELS = [matmul, pack, conv, depthwise, conv_transpose, reduce, softmax, norm, pool, resize, move, gather]


def test_every_kernel_has_a_row():
    text = (ROOT / "include/mopt/Dialect/Kernel/Kernel.td").read_text()
    ops = re.findall(r'^def Kernel_\w+Op : Kernel_(?:Root|Row)Op<"(\w+)"', text, re.M)
    assert len(ops) > 8
    assert {"pack", *ops} == {kernel.__name__ for kernel in KERNELS}


def rows_of(fed, first, last):
    return {name: value[first:last] for name, value in fed.items()}


@pytest.mark.parametrize("cpu", ["x86-64-v2", "native"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_contract(kernel, cpu, release, tmp_path):
    m = Model(np.random.default_rng(len(cpu) * 100 + KERNELS.index(kernel)))
    for _ in range(6):
        kernel(m)
    proto = m.proto()
    onnx.save(proto, tmp_path / "model.onnx")
    command = [
        release / "bin/mopt",
        "compile",
        tmp_path / "model.onnx",
        "--to",
        "kernels",
        "-o",
        tmp_path / "k.mlir",
        "--quiet",
    ]
    subprocess.run(command, check=True, timeout=120)
    made = len(re.findall(rf"kernel\.{kernel.__name__} ins", (tmp_path / "k.mlir").read_text()))
    assert made >= 6, "some cases do not run the kernel that is tested"

    models = [mopt.compile(proto, cpu=cpu, tiles=TILES, threads=threads) for threads in (1, 3)]
    want = models[0].run(m.fed)
    variants = models[0].variants
    assert kernel not in (matmul, pack, conv) or len(variants) > 1
    alone = {}
    for first, last in [(0, 1), (1, 3), (3, BATCH)]:
        for name, value in models[0].run(rows_of(m.fed, first, last)).items():
            alone.setdefault(name, []).append(value)
    for name, value in want.items():
        assert np.concatenate(alone[name]).tobytes() == value.tobytes(), f"{name}: neighbours in the batch change it"
    for model in models:
        for variant in variants:
            for name, value in model.run(m.fed, variant=variant).items():
                assert value.tobytes() == want[name].tobytes(), f"{name}: {variant} changes it"

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for name, value in zip(m.outputs, session.run(m.outputs, m.fed), strict=True):
        assert want[name].shape == value.shape
        np.testing.assert_allclose(want[name], value, rtol=2e-5, atol=2e-5 * max(1, np.abs(value).max()), err_msg=name)
