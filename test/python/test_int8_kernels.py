"""Kernels on 8-bit integers: the exact sums, and both ways to requantize them, bit for bit what the definitions say; on every
CPU, with one thread and two, for a row alone and in a batch, for sizes that fit no vector."""

import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

import raw
from drivers import RELEASE, CliDriver, Refused

CPUS = ["x86-64-v2", "x86-64-v3", "native"]
MODES = ["float", "fixed"]
DRIVER = CliDriver(timeout=600)
TYPES = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "int32": TensorProto.INT32}


# ---- what the operators mean -------------------------------------------------------------------------------------------
def requantize(sums, scales, zero, dtype, mode):
    """sums: int64 of 32 bits. scales: float32, broadcast to them."""
    info = np.iinfo(dtype)
    scales = np.broadcast_to(scales, sums.shape)
    if mode == "float":
        real = sums.astype(np.float32) * scales
        return np.clip(np.rint(np.clip(real, info.min - zero, info.max - zero)) + zero, info.min, info.max).astype(dtype)
    out = np.empty(sums.shape, dtype)
    for index, value in np.ndenumerate(sums):
        mantissa, exponent = math.frexp(float(scales[index]))  # a float has 24 bits: the multiplier is exact
        shift = 31 - exponent
        rounded = (int(value) * int(mantissa * 2**31) + (1 << (shift - 1))) >> shift
        out[index] = min(max(rounded + zero, info.min), info.max)
    return out


def convolve(x, w, group, strides, dilations, pads):
    """Sums in int64; x is already less its zero point, so that what is outside is 0."""
    axes = w.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:])])
    spans = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations)]
    sizes = [(full - span) // s + 1 for full, span, s in zip(x.shape[2:], spans, strides)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes), np.int64)
    inside, outside = w.shape[1], w.shape[0] // group
    for g, tap in itertools.product(range(group), itertools.product(*map(range, w.shape[2:]))):
        place = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, sizes, strides)]
        part = x[(slice(None), slice(g * inside, (g + 1) * inside), *place)]
        weights = w[(slice(g * outside, (g + 1) * outside), slice(None), *tap)]
        out[:, g * outside : (g + 1) * outside] += np.einsum("nc...,oc->no...", part, weights)
    return out


# ---- cases: each is a node of one model, with an input and an output of its own ----------------------------------------
class Case:
    """kind: qmatmul, qconv, matmul, conv. `extreme`: values at the ends of their types, whose products are the largest."""

    def __init__(self, kind, x, w, a="uint8", b="int8", y="uint8", *, channels=False, bias=False, extreme=False, **attrs):
        self.kind, self.x, self.w, self.a, self.b, self.y = kind, x, w, a, b, y
        self.channels, self.bias, self.extreme, self.attrs = channels, bias, extreme, attrs

    @property
    def is_conv(self):
        return self.kind.endswith("conv")

    def fill(self, rng, shape, dtype):
        info = np.iinfo(dtype)
        if self.extreme:
            return rng.choice([info.min, info.max], shape, p=[0.9, 0.1]).astype(dtype)
        return rng.integers(info.min, info.max + 1, shape).astype(dtype)

    def add(self, number, nodes, inits, inputs, outputs):
        rng = self.rng = np.random.default_rng(number)
        self.name, self.out = f"x{number}", f"y{number}"
        self.weights = self.fill(rng, self.w, self.b)
        self.w_zero = 128 if self.b == "uint8" else 0
        info = np.iinfo(self.a)
        self.a_zero = int(info.max if self.extreme else rng.integers(info.min, info.max + 1))
        columns = self.w[0] if self.is_conv else self.w[-1]
        depth = int(np.prod(self.w[1:])) if self.is_conv else self.w[-2]
        self.a_scale, self.y_scale = np.float32(rng.uniform(0.01, 0.1)), np.float32(rng.uniform(0.5, 2) * math.sqrt(depth))
        self.w_scale = rng.uniform(0.005, 0.05, columns if self.channels else ()).astype(np.float32)
        self.y_zero = int(rng.integers(np.iinfo(self.y).min, np.iinfo(self.y).max + 1)) if self.y != "int32" else 0
        self.bias_values = rng.integers(-5000, 5000, columns).astype(np.int32) if self.bias else None

        def constant(name, value, dtype):
            inits.append(numpy_helper.from_array(np.asarray(value, dtype), f"{name}{number}"))
            return f"{name}{number}"

        a_zero, w = constant("az", self.a_zero, self.a), constant("w", self.weights, self.b)
        w_zero = constant("wz", np.full(columns if self.channels else (), self.w_zero), self.b)
        if self.kind in ("matmul", "conv"):
            op = {"matmul": "MatMulInteger", "conv": "ConvInteger"}[self.kind]
            nodes.append(helper.make_node(op, [self.name, w, a_zero, w_zero], [self.out], name=self.out, **self.attrs))
        else:
            names = [self.name, constant("as", self.a_scale, np.float32), a_zero, w, constant("ws", self.w_scale, np.float32),
                     w_zero, constant("ys", self.y_scale, np.float32), constant("yz", self.y_zero, self.y)]  # fmt: skip
            names += [constant("bias", self.bias_values, np.int32)] if self.bias else []
            op = {"qmatmul": "QLinearMatMul", "qconv": "QLinearConv"}[self.kind]
            nodes.append(helper.make_node(op, names, [self.out], name=self.out, **self.attrs))
        inputs.append(helper.make_tensor_value_info(self.name, TYPES[self.a], ["n", *self.x]))
        outputs.append(helper.make_tensor_value_info(self.out, TYPES[self.y], None))

    def feed(self, rows):
        return self.fill(np.random.default_rng(rows), (rows, *self.x), self.a)

    def expected(self, x, mode):
        x, w = x.astype(np.int64) - self.a_zero, self.weights.astype(np.int64) - self.w_zero
        if self.is_conv:
            axes = w.ndim - 2
            sums = convolve(x, w, self.attrs.get("group", 1), self.attrs.get("strides", [1] * axes),
                            self.attrs.get("dilations", [1] * axes), self.attrs.get("pads", [0] * 2 * axes))  # fmt: skip
            across = (-1, *[1] * axes)
        else:
            sums, across = x @ w, (-1,)
        if self.bias:
            sums += self.bias_values.reshape(across)
        assert np.abs(sums).max(initial=0) < 2**31
        if self.y == "int32":
            return sums.astype(np.int32)
        scales = np.float32(self.a_scale * self.w_scale) / self.y_scale
        return requantize(sums, scales.reshape(across) if scales.ndim else scales, self.y_zero, self.y, mode)


def matmul_cases():
    widths, depths = [1, 5, 8, 9, 16, 17, 31, 33, 40, 64, 100], [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 50, 63, 64, 65, 130]
    kinds = itertools.cycle(itertools.product(("uint8", "int8"), ("int8", "uint8"), ("uint8", "int8"), (False, True)))
    for i, depth in enumerate(depths):
        a, b, y, channels = next(kinds)
        yield Case("qmatmul", [depth], [depth, widths[i % len(widths)]], a, b, y, channels=channels)
        yield Case("matmul", [depth], [depth, widths[(i + 4) % len(widths)]], b, a, "int32")
    for a, b in itertools.product(("uint8", "int8"), repeat=2):  # products at their largest, in pairs and fours
        yield Case("matmul", [301], [301, 18], a, b, "int32", extreme=True)
    yield Case("qmatmul", [3, 5, 21], [21, 19], channels=True)  # batch axes that join the rows
    yield Case("matmul", [3, 5, 21], [3, 21, 19], y="int32")  # a matrix of its own for each
    yield Case("qmatmul", [4, 9], [4, 9, 6], channels=True)  # the bias has batch axes


def conv_cases():
    yield Case("qconv", [3, 9, 10], [16, 3, 3, 3], bias=True, pads=[1, 1, 1, 1])  # channels that are no multiple of 4
    yield Case("qconv", [8, 9, 10], [20, 8, 3, 3], "int8", channels=True, bias=True, pads=[1, 2, 0, 1])  # runs
    yield Case("qconv", [32, 6, 7], [8, 32, 3, 5], "int8", "uint8", "int8", pads=[1, 2, 1, 2], strides=[2, 1])
    yield Case("qconv", [12, 7, 7], [33, 12, 1, 1], channels=True, bias=True)  # a matrix product
    yield Case("qconv", [5, 7, 7], [7, 5, 1, 1], strides=[2, 2])
    yield Case("qconv", [16, 9, 9], [24, 4, 3, 3], "int8", group=4, channels=True, pads=[1, 1, 1, 1])
    yield Case("qconv", [10, 8, 9], [10, 5, 2, 3], group=2, bias=True, dilations=[2, 2], pads=[2, 0, 0, 2])
    yield Case("qconv", [6, 23], [9, 6, 5], pads=[2, 2], strides=[3], bias=True)
    yield Case("qconv", [4, 23], [9, 4, 5], "int8", pads=[4, 0], dilations=[1])
    yield Case("qconv", [4, 4, 5, 6], [17, 4, 2, 3, 2], "uint8", "uint8", channels=True, pads=[1, 0, 1, 0, 2, 0])
    yield Case("qconv", [130, 3, 4], [18, 130, 2, 2], "int8", bias=True, pads=[0, 1, 1, 0])  # longer than a run may be
    yield Case("conv", [8, 6, 6], [12, 8, 3, 3], y="int32", pads=[1, 1, 1, 1])
    yield Case("conv", [7, 6, 6], [5, 7, 3, 2], "int8", "uint8", "int32", extreme=True, pads=[1, 0, 0, 1], strides=[1, 2])


def model_of(cases):
    nodes, inits, inputs, outputs = [], [], [], []
    for number, case in enumerate(cases):
        case.add(number, nodes, inits, inputs, outputs)
    graph = helper.make_graph(nodes, "g", inputs, outputs, inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def explain(model, *options):
    """The record of `mopt explain`."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "m.onnx").write_bytes(model)
        words = [RELEASE / "bin" / "mopt", "explain", base / "m.onnx", "--json", base / "why.json", *options]
        subprocess.run(words, check=True, capture_output=True)
        return json.loads((base / "why.json").read_text())["steps"]


def check(cases, feeds, results, mode):
    for case in cases:
        np.testing.assert_array_equal(results[case.out], case.expected(feeds[case.name], mode), err_msg=str(vars(case)))


@pytest.mark.parametrize("make", [matmul_cases, conv_cases])
def test_are_kernels(make):
    """Else the tests below would hold reference functions against the oracle."""
    cases = list(make())
    steps = {node: step for step in explain(model_of(cases)) for node in step["nodes"] if step["macs"]}
    for case in cases:
        assert steps[case.out]["code"] == "generated", (vars(case), steps[case.out])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("make", [matmul_cases, conv_cases])
def test_exact(make, cpu, mode):
    cases = list(make())
    compiled = DRIVER.compile(model_of(cases), cpu=cpu, requantize=mode)
    for rows in (1, 3, 13):
        feeds = {case.name: case.feed(rows) for case in cases}
        first, second = compiled.run(feeds, threads=1), compiled.run(feeds, threads=2)
        check(cases, feeds, first, mode)
        for name, value in first.items():
            assert value.tobytes() == second[name].tobytes(), f"{name}: two threads give other bits"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cpu", ["generic", "cortex-a76"])  # without and with dot instructions
@pytest.mark.parametrize("make", [matmul_cases, conv_cases])
def test_exact_on_aarch64(make, cpu, mode, tmp_path):
    if not Path("/usr/bin/qemu-aarch64").exists():
        pytest.skip("qemu-aarch64 is not installed")
    cases = list(make())
    program = raw.build_aarch64(tmp_path)
    compiled = DRIVER.compile(model_of(cases), triple=raw.AARCH64, cpu=cpu, requantize=mode)
    feeds = {case.name: case.feed(3) for case in cases}
    check(cases, feeds, raw.run(program, compiled.path, feeds, tmp_path), mode)


@pytest.mark.parametrize("mode", MODES)
def test_reference_functions(mode, tmp_path):
    """The interpreter computes the same: small cases of every kind."""
    cases = [Case("qmatmul", [17], [17, 5], channels=True), Case("qconv", [3, 5, 5], [4, 3, 2, 2], bias=True),
             Case("qconv", [4, 6], [4, 1, 3], "int8", "int8", "int8", group=4, channels=True)]  # fmt: skip
    (tmp_path / "m.onnx").write_bytes(model_of(cases))
    feeds = {case.name: case.feed(2) for case in cases}
    np.savez(tmp_path / "in.npz", **feeds)
    words = [RELEASE / "bin" / "mopt-compiler", "interpret", tmp_path / "m.onnx", "--inputs", tmp_path / "in.npz",
             "--outputs", tmp_path / "out.npz", "--requantize", mode]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True)
    with np.load(tmp_path / "out.npz") as results:
        check(cases, feeds, results, mode)


@pytest.mark.parametrize("mode", MODES)
def test_every_level_agrees(mode, tmp_path):
    """`mopt verify` holds each phase and the artifact against the interpreter, with no tolerance for integers."""
    cases = [Case("qmatmul", [30], [30, 20], channels=True), Case("qconv", [8, 7, 7], [16, 8, 3, 3], pads=[1] * 4)]
    (tmp_path / "m.onnx").write_bytes(model_of(cases))
    np.savez(tmp_path / "in.npz", **{case.name: case.feed(3) for case in cases})
    words = [RELEASE / "bin" / "mopt", "verify", tmp_path / "m.onnx", "--inputs", tmp_path / "in.npz", "--atol", "0",
             "--rtol", "0", "--requantize", mode]  # fmt: skip
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


# ---- what has no kernel ------------------------------------------------------------------------------------------------
def qmatmul(**changed):
    """A model of one QLinearMatMul; values of its constants by name."""
    values = {"as": np.float32(0.02), "az": np.uint8(3), "w": np.ones((6, 4), np.int8), "ws": np.float32(0.5),
              "wz": np.int8(0), "ys": np.float32(0.25), "yz": np.uint8(7)} | changed  # fmt: skip
    names = ["x", "as", "az", "w", "ws", "wz", "ys", "yz"]
    given = [name for name in names[1:] if values[name] is not None]
    inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, [2, 6])]
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in names[1:] if name not in given]
    graph = helper.make_graph(
        [helper.make_node("QLinearMatMul", names, ["y"], name="product")], "g", inputs,
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(values[name]), name) for name in given],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"wz": np.int8(3)}, "the zero point of its weights is 3, the kernel takes 0"),
        ({"w": np.ones((6, 4), np.uint8), "wz": np.uint8(0)}, "the zero point of its weights is 0, the kernel takes 128"),
        ({"ys": None}, "its scales are not constant"),
        ({"as": np.full(2, 0.02, np.float32)}, "its scales are not constant, or change along the rows"),
        ({"az": np.full(2, 3, np.uint8)}, "the zero point of its left operand is not one constant"),
    ],
)
def test_why_not(changed, why):
    model = qmatmul(**changed)
    (step,) = explain(model)
    assert step["code"] == "reference"
    assert why in step["why"]
    feeds = {"x": np.arange(12, dtype=np.uint8).reshape(2, 6)}
    if changed.get("ys", 1) is None:
        feeds["ys"] = np.float32(0.25)
    DRIVER.compile(model).run(feeds)


def test_scale_without_multiplier():
    """2^-40 is no fixed-point scale: refused by name where it is known; the same model is right in mode float."""
    model = qmatmul(**{"as": np.float32(2.0**-40)})
    with pytest.raises(Refused, match=r"MOPT-C016.*--requantize float.*node 'product'"):
        DRIVER.compile(model, requantize="fixed")
    feeds = {"x": np.full((2, 6), 200, np.uint8)}
    assert (DRIVER.compile(model, requantize="float").run(feeds)["y"] == 7).all()


def test_scale_of_a_run_without_multiplier():
    """Where only the run knows the scale, the run refuses."""
    compiled = DRIVER.compile(qmatmul(ys=None), requantize="fixed")
    feeds = {"x": np.full((2, 6), 200, np.uint8)}
    for scale, fits in ((0.25, True), (2.0**-40, False), (0.0, False), (float("nan"), False)):
        if fits:
            compiled.run(feeds | {"ys": np.float32(scale)})
        else:
            with pytest.raises(Refused, match="product"):
                compiled.run(feeds | {"ys": np.float32(scale)})


def test_mode_is_recorded(tmp_path):
    compiled = DRIVER.compile(qmatmul(), requantize="fixed")
    result = subprocess.run([RELEASE / "bin" / "mopt", "inspect", compiled.path, "--json"], capture_output=True, text=True,
                            check=True)  # fmt: skip
    assert '"requantize": "fixed"' in result.stdout


def test_fixed_has_no_onnx_form(tmp_path):
    (tmp_path / "m.onnx").write_bytes(qmatmul())
    words = [RELEASE / "bin" / "mopt", "compile", tmp_path / "m.onnx", "--to", "imported", "--requantize", "fixed", "-o",
             tmp_path / "m.mlir"]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True)
    words = [RELEASE / "bin" / "mopt", "export", tmp_path / "m.mlir", "-o", tmp_path / "back.onnx"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "fixed-point" in result.stderr
