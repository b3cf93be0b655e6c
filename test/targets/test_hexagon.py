"""Integer kernels on Hexagon with HVX, under emulation: bit for bit what the definitions say, and what the CPU computes from
the same model in the same mode; never a byte read past the end of a buffer (the page behind each one cannot be touched); and
as many packets as a budget allows."""

import math
import signal
import subprocess
import sys
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import onnx.compose
import pytest
from onnx import TensorProto, helper, numpy_helper, save

sys.path += [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]

import hexagon
from drivers import RELEASE, CliDriver, Refused, execute

if not hexagon.EMULATOR:
    message = "NOT TESTED: code for Hexagon cannot run without an emulator; apt-get install qemu-user"
    print(f"\n{message}", file=sys.__stderr__, flush=True)
    pytest.skip(message, allow_module_level=True)

ONNX = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "int32": TensorProto.INT32}
WEIGHT_ZERO = {"int8": 0, "uint8": 128}


# ---- what the operators mean, in Python's integers and int64 -------------------------------------------------------------
def fixed_point(scale):
    """Multiplier in [2^30, 2^31) and shift with scale = multiplier / 2^shift."""
    mantissa, exponent = math.frexp(float(scale))
    return int(mantissa * 2**31), 31 - exponent


def requantized(sums, scales, zero, dtype):
    """`scales`: for each channel, the last axis."""
    out, info = np.empty(sums.shape, dtype), np.iinfo(dtype)
    for index, value in np.ndenumerate(sums):
        multiplier, shift = fixed_point(scales[index[-1] % len(scales)])
        rounded = (int(value) * multiplier + (1 << (shift - 1))) >> shift
        out[index] = min(max(rounded + zero, info.min), info.max)
    return out


def convolved(x, w, group, strides, dilations, pads):
    """Sums in int64, channels last. x[n, c, s...] is less its zero point, so that what is outside is 0."""
    axes = w.ndim - 2
    sizes = [
        (x.shape[2 + d] + pads[d] + pads[axes + d] - (w.shape[2 + d] - 1) * dilations[d] - 1) // strides[d] + 1
        for d in range(axes)
    ]
    sums = np.zeros((x.shape[0], *sizes, w.shape[0]), np.int64)
    depth, outputs = w.shape[1], w.shape[0] // group
    for place in product(*map(range, sizes)):
        for tap in product(*map(range, w.shape[2:])):
            at = [place[d] * strides[d] - pads[d] + tap[d] * dilations[d] for d in range(axes)]
            if all(0 <= at[d] < x.shape[2 + d] for d in range(axes)):
                pixel = x[(slice(None), slice(None), *at)].reshape(x.shape[0], group, depth)
                weights = w[(slice(None), slice(None), *tap)].reshape(group, outputs, depth)
                sums[(slice(None), *place)] += np.einsum("ngc,goc->ngo", pixel, weights).reshape(x.shape[0], -1)
    return sums


class Case:
    """One node. `scale`: about the factor of the sums; `y` int32: not requantized."""

    def __init__(self, name, x, w, a="uint8", b="int8", y="uint8", *, scale=None, channels=False, bias=False, extreme=False,
                 **attrs):  # fmt: skip
        rng = np.random.default_rng(sum(name.encode()))
        self.name, self.attrs, self.kinds, self.is_conv = name, attrs, (a, b, y), len(w) > 2 and "pads" in attrs
        columns = w[0] if self.is_conv else w[-1]
        depth = math.prod(w[1:]) if self.is_conv else w[-2]

        def values(shape, dtype):
            info = np.iinfo(dtype)
            if extreme:
                return rng.choice([info.min, info.max], shape, p=[0.9, 0.1]).astype(dtype)
            return rng.integers(info.min, info.max + 1, shape).astype(dtype)

        self.x, self.w = values(x, a), values(w, b)
        self.x_zero = int(values((), a))
        self.y_zero = int(values((), y)) if y != "int32" else 0
        self.bias = rng.integers(-9000, 9000, columns).astype(np.int32) if bias else None
        scale = scale or 1 / (40 * math.sqrt(depth))
        spread = 2.0 ** rng.uniform(-2, 2, columns if channels else 1)
        self.w_scale = (scale * spread).astype(np.float32)

    @cached_property
    def expected(self):
        x, w = self.x.astype(np.int64) - self.x_zero, self.w.astype(np.int64) - WEIGHT_ZERO[self.kinds[1]]
        axes = w.ndim - 2
        if self.is_conv:
            sums = convolved(x, w, self.attrs.get("group", 1), self.attrs.get("strides", [1] * axes),
                             self.attrs.get("dilations", [1] * axes), self.attrs["pads"])  # fmt: skip
        else:
            sums = x @ w
        if self.bias is not None:
            sums += self.bias
        assert sums.min(initial=0) >= -(2**31) and sums.max(initial=0) < 2**31
        y = self.kinds[2]
        y = sums.astype(np.int32) if y == "int32" else requantized(sums, self.w_scale, self.y_zero, y)
        return np.moveaxis(y, -1, 1) if self.is_conv else y

    def model(self, path, shape=None):
        a, b, y = self.kinds
        zeros = np.full(len(self.w_scale) if len(self.w_scale) > 1 else (), WEIGHT_ZERO[b])
        constants = {"xs": np.float32(1), "xz": np.dtype(a).type(self.x_zero), "w": self.w, "wz": zeros.astype(b),
                     "ws": self.w_scale if len(self.w_scale) > 1 else self.w_scale[0], "ys": np.float32(1),
                     "yz": np.dtype(y).type(self.y_zero)}  # fmt: skip
        if self.bias is not None:
            constants["bias"] = self.bias
        if y == "int32":
            names = ["x", "w", "xz", "wz"]
            node = helper.make_node(
                "ConvInteger" if self.is_conv else "MatMulInteger", names, ["y"], name="node", **self.attrs
            )
        else:
            names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", *(["bias"] if self.bias is not None else [])]
            node = helper.make_node(
                "QLinearConv" if self.is_conv else "QLinearMatMul", names, ["y"], name="node", **self.attrs
            )
        used = [numpy_helper.from_array(np.asarray(constants[name]), name) for name in names[1:]]
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", ONNX[a], shape or self.x.shape)],
                                  [helper.make_tensor_value_info("y", ONNX[y], None if shape else self.expected.shape)],
                                  used)  # fmt: skip
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
        return path


MATMULS = [
    Case("plain", [16, 64], [64, 128]),
    Case("signed", [16, 64], [64, 128], "int8", "int8", "int8", channels=True),
    Case("of unsigned weights", [9, 40], [40, 70], "int8", "uint8", "uint8"),
    Case("one row", [1, 256], [256, 100], channels=True),
    Case("no rows", [0, 8], [8, 40]),
    Case("depth 1", [5, 1], [1, 33], "int8", y="int8"),
    Case("depth 3, column 1", [7, 3], [3, 1]),
    Case("depth 13", [17, 13], [13, 65], channels=True),  # rows at odd addresses, and a tail of a word
    Case("depth 36", [3, 36], [36, 31], y="int8"),  # words, but no double words
    Case("panels 3", [10, 16], [16, 96]),
    Case("panels 5", [11, 24], [24, 160], channels=True),  # tiles of 3 and 2
    Case("columns 129", [13, 8], [8, 129]),
    Case("batch", [2, 3, 5, 20], [20, 40]),  # axes that join the rows
    Case("batch of matrices", [3, 6, 20], [3, 20, 40], y="int32"),  # and axes that cannot
    Case("batch with bias", [4, 2, 9], [4, 9, 37]),
    Case("sums", [8, 50], [50, 45], y="int32"),
    Case("signed sums", [8, 50], [50, 45], "int8", y="int32"),
    Case("extreme", [4, 301], [301, 40], y="int32", extreme=True),
    Case("extreme signed", [4, 301], [301, 40], "int8", "uint8", "int32", extreme=True),
    Case("extreme requantized", [4, 301], [301, 40], "int8", "uint8", "int8", extreme=True, scale=2**-17),
    # What the shift does: 32 is a word; below, sums are shifted; below 22 one product saturates.
    *(Case(f"factor 2^{e}", [6, 7], [7, 50], y=y, scale=2.0**e, channels=c)
      for e, y, c in [(-31, "uint8", False), (-9, "int8", True), (-2, "uint8", True), (-1, "int8", True), (0, "uint8", True),
                      (1, "int8", False), (4, "uint8", True), (8, "int8", True), (10, "uint8", True), (20, "int8", False),
                      (28, "uint8", False)]),
]  # fmt: skip
CONVS = [
    Case("3x3", [1, 16, 10, 10], [32, 16, 3, 3], bias=True, pads=[1, 1, 1, 1]),
    Case(
        "3x3 per channel", [2, 8, 7, 9], [48, 8, 3, 3], "int8", "int8", "int8", bias=True, channels=True, pads=[1, 1, 1, 1]
    ),
    Case("3 channels", [1, 3, 11, 13], [20, 3, 3, 3], bias=True, pads=[1, 1, 1, 1], strides=[2, 2]),
    Case("5 channels", [1, 5, 6, 6], [7, 5, 3, 3], "int8", y="int8", pads=[0, 1, 2, 1]),
    Case("pads that differ", [1, 12, 9, 8], [33, 12, 3, 5], b="uint8", channels=True, pads=[1, 2, 0, 3], strides=[2, 1]),
    Case("dilations", [1, 4, 12, 12], [40, 4, 3, 3], pads=[2, 2, 2, 2], dilations=[2, 3]),
    Case("groups", [1, 24, 6, 5], [40, 6, 3, 3], "int8", bias=True, channels=True, pads=[1, 1, 1, 1], group=4),
    Case("groups of words", [2, 16, 5, 5], [96, 8, 3, 3], channels=True, pads=[1, 0, 1, 0], group=2),
    Case("groups of panels", [1, 64, 4, 4], [256, 32, 1, 1], bias=True, pads=[0, 0, 0, 0], group=2),
    Case("pointwise", [1, 24, 8, 8], [130, 24, 1, 1], bias=True, channels=True, pads=[0, 0, 0, 0]),
    Case("pointwise with strides", [1, 20, 9, 9], [36, 20, 1, 1], "int8", pads=[0, 0, 0, 0], strides=[2, 2]),
    Case("one axis", [2, 10, 30], [36, 10, 5], y="int8", bias=True, pads=[2, 2], strides=[3]),
    Case("three axes", [1, 4, 4, 5, 6], [34, 4, 2, 3, 2], pads=[0, 1, 1, 1, 1, 0]),
    Case("nothing but padding", [1, 4, 2, 2], [32, 4, 3, 3], pads=[6, 6, 6, 6], strides=[5, 5]),
    Case("sums of a convolution", [1, 7, 6, 6], [35, 7, 3, 3], "int8", y="int32", pads=[1, 1, 1, 1]),
]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return hexagon.build_host(tmp_path_factory.mktemp("host"))


def run(case, host, folder, *options):
    expected = case.expected
    compiled = hexagon.compile_model(case.model(folder / "model.onnx"), folder / "model.o", "--emit", "obj")
    program = hexagon.link(compiled, host, folder / "model.elf")
    results, steps = hexagon.run(program, {"x": case.x}, {"y": (case.kinds[2], expected.shape)}, folder, *options)
    return results["y"], expected, steps


def same(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert np.array_equal(result, expected), f"{np.count_nonzero(result != expected)} of {result.size} differ"


@pytest.mark.parametrize("case", MATMULS + CONVS, ids=lambda case: case.name)
def test_bits(case, host, tmp_path):
    """The definition, the emulated code and the CPU's are one result."""
    result, expected, steps = run(case, host, tmp_path)
    same(result, expected)
    model = CliDriver().compile(tmp_path / "model.onnx", requantize="fixed")
    same(model.run({"x": case.x})["y"], expected)
    assert sum(step.macs for step in steps) >= expected.size
    assert not expected.size or any(step.hvx > 0 for step in steps)


@pytest.mark.parametrize("y", ["uint8", "int8"])
@pytest.mark.parametrize("least", [-32, -8], ids=["every shift", "shifts from 33 on"])
def test_requantization(y, least, host, tmp_path):
    """Any sum with any scale: weights of 0 leave the bias as the sum. Small, large and extreme ones, for each of 1024 scales."""
    rng = np.random.default_rng(3)
    case = Case(f"requantize {least}", [1, 4, 1, 1], [1024, 4, 1, 1], y=y, bias=True, pads=[0] * 4)
    case.w[:] = 0
    exponents = rng.uniform(-31.99, 28.9 if least == -32 else -3.01, 1024)
    case.w_scale = (2.0**exponents).astype(np.float32)
    # About what reaches the clamp, anything, ties of powers of two, and the ends.
    near = rng.integers(-400, 400, 1024) / 2.0**exponents
    sums = np.where(rng.random(1024) < 0.6, near, rng.integers(-(2**31), 2**31, 1024))
    case.bias = sums.clip(-(2**31), 2**31 - 1).astype(np.int32)
    case.bias[:8] = [-(2**31), 2**31 - 1, -(2**31), 2**31 - 1, 0, 1, -1, 1024]
    case.w_scale[:8] = [2.0**-32, 2.0**-32, 2.0 ** (-4), 2.0 ** (-4), 0.5**4, 2.0**-5, 2.0**-5, 2.0**-11]
    if least == -32:
        case.bias[8:24] = [v for s in (1, 512, 1023, 1024, 1025, 2**21, 2**30, 2**31 - 1) for v in (s, -s)]
        case.w_scale[8:24] = [0.5, 0.5, 0.5, 0.5, 0.5, 0.75, 0.999, 1, 2, 128, 255.5, 256, 512, 2.0**20, 2.0**28, 1.5]
    result, expected, _ = run(case, host, tmp_path)
    assert len(np.unique(expected)) > 100  # not only the ends of the clamp
    same(result, expected)
    same(CliDriver().compile(tmp_path / "model.onnx", requantize="fixed").run({"x": case.x})["y"], expected)


@pytest.mark.parametrize("y", ["uint8", "int8"])
def test_tighter_clamp(y, host, tmp_path):
    """Bounds inside of the type's, as an activation leaves them in the kernel op."""
    case, least = Case("clamped", [6, 12], [12, 70], y=y), np.iinfo(y).min
    buffers = tmp_path / "m.mlir"
    execute([RELEASE / "bin/mopt-compiler", "compile", case.model(tmp_path / "m.onnx"), "-o", buffers, "--to", "buffers",
             "--triple", hexagon.TRIPLE, "--quiet"], 60)  # fmt: skip
    text = buffers.read_text()
    low, high = f"low = {least} : i64", f"high = {least + 255} : i64"
    assert low in text and high in text
    buffers.write_text(text.replace(low, f"low = {least + 90} : i64").replace(high, f"high = {least + 180} : i64"))
    compiled = hexagon.compile_model(buffers, tmp_path / "m.o", "--emit", "obj")
    program, expected = hexagon.link(compiled, host, tmp_path / "m.elf"), case.expected.clip(least + 90, least + 180)
    assert not np.array_equal(expected, case.expected)
    same(hexagon.run(program, {"x": case.x}, {"y": (y, expected.shape)}, tmp_path)[0]["y"], expected)


def test_page_behind_a_buffer(host, tmp_path):
    """What the test of bits relies on: a byte past the end of a buffer, rounded up to its alignment, ends the program."""
    for place, status in ((127, 0), (128, -signal.SIGSEGV)):
        (tmp_path / "main.c").write_text(
            f'#include "machine.h"\nint main(void) {{ return ((volatile char *)guarded(70, 64))[{place}]; }}\n'
        )
        objects = [hexagon.compile_c(tmp_path / "main.c", tmp_path), *(o for o in host if o.stem == "machine")]
        program = hexagon.link(objects[0], objects[1:], tmp_path / "main.elf")
        assert subprocess.run([hexagon.EMULATOR, program], timeout=60, check=False, capture_output=True).returncode == status


def test_chunks(host, tmp_path):
    """Chunks in any order, or all in one call, are the same result."""
    case = Case("chunks", [600, 64], [64, 64])
    one_by_one, expected, steps = run(case, host, tmp_path)
    assert steps[0].chunks > 1
    same(one_by_one, expected)
    same(run(case, host, tmp_path, "--whole")[0], expected)


# Packets for 1000 multiply-adds: MAC of a packet are 1000 over that. An issue bound, not time: QEMU models no stalls.
@pytest.mark.parametrize(
    ("case", "budget"),
    [
        (Case("budget of a product", [64, 256], [256, 256], channels=True), 5.8),
        (Case("budget of a convolution", [1, 64, 16, 16], [128, 64, 3, 3], bias=True, channels=True, pads=[1] * 4), 7.1),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_packets(case, budget, host, tmp_path):
    result, expected, steps = run(case, host, tmp_path, "--whole")
    same(result, expected)
    step = max(steps, key=lambda step: step.macs)
    used = 1000 * step.packets / step.macs
    print(f"{case.name}: {used:.3f} packets for 1000 multiply-adds, {step.macs / step.packets:.0f} in a packet")
    assert used <= budget


@pytest.mark.parametrize("change", ["weight", "shift", "zero point"])
def test_changes_are_seen(change, host, tmp_path):
    """The comparison fails where the model differs from what is expected of it in one number."""
    case = Case("changed", [1, 8, 6, 6], [32, 8, 3, 3], bias=True, pads=[1, 1, 1, 1])
    expected = case.expected
    if change == "weight":
        case.w[17, 3, 1, 2] ^= 0x40
    elif change == "shift":
        case.w_scale = case.w_scale * np.float32(2)
    else:
        case.x_zero ^= 1
    result = run(case, host, tmp_path)[0]
    assert not np.array_equal(result, expected)


def test_refusals(tmp_path):
    """What has no code is an error of the model, with its node, not a crash."""
    case = Case("refused", [4, 16], [16, 8])
    out = tmp_path / "model.o"
    with pytest.raises(Refused, match=r"MOPT-C031.*'n'"):
        hexagon.compile_model(case.model(tmp_path / "m.onnx", ["n", 16]), out, "--emit", "obj")
    hexagon.compile_model(tmp_path / "m.onnx", out, "--emit", "obj", "--shape", "x=4x16")
    with pytest.raises(Refused, match="MOPT-C011.*'so'"):
        hexagon.compile_model(case.model(tmp_path / "m.onnx"), out)
    with pytest.raises(Refused, match="MOPT-C030.*requantize fixed"):
        hexagon.compile_model(tmp_path / "m.onnx", out, "--emit", "obj", "--requantize", "float")
    with pytest.raises(Refused, match="MOPT-C012.*hexagonv66"):
        hexagon.compile_model(tmp_path / "m.onnx", out, "--emit", "obj", "--cpu", "hexagonv5")
    with pytest.raises(Refused, match="MOPT-C033.*--tiles"):
        hexagon.compile_model(tmp_path / "m.onnx", out, "--emit", "obj", "--tiles", "2x2")
    node = helper.make_node("Softmax", ["x"], ["y"], name="attention")
    float_type = TensorProto.FLOAT
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", float_type, [4, 4])],
                              [helper.make_tensor_value_info("y", float_type, [4, 4])])  # fmt: skip
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "f.onnx")
    result = subprocess.run(
        [RELEASE / "bin/mopt", "compile", tmp_path / "f.onnx", "-o", out, "--triple", hexagon.TRIPLE, "--emit", "obj"],
        capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert result.returncode == 2 and "MOPT-C030" in result.stderr and "attention" in result.stderr, result.stderr


def test_limits(tmp_path):
    """Rows that do not fit the stack are refused."""
    case = Case("deep", [8, 40000], [40000, 1])
    with pytest.raises(Refused, match="MOPT-C032"):
        hexagon.compile_model(case.model(tmp_path / "m.onnx"), tmp_path / "m.o", "--emit", "obj")


def test_panels_of_a_cpu(tmp_path):
    """A module that was packed for a CPU is refused, not misread."""
    model = Case("packed", [4, 16], [16, 8]).model(tmp_path / "m.onnx")
    execute([RELEASE / "bin/mopt-compiler", "compile", model, "-o", tmp_path / "m.mlir", "--to", "buffers", "--requantize",
             "fixed", "--quiet"], 60)  # fmt: skip
    with pytest.raises(Refused, match="MOPT-C030.*panels"):
        hexagon.compile_model(tmp_path / "m.mlir", tmp_path / "m.o", "--emit", "obj")


def test_chain(host, tmp_path):
    """Results of a step are the next one's input; only the ends change their layout."""
    first = Case("first", [1, 3, 9, 9], [32, 3, 3, 3], bias=True, pads=[1] * 4)
    second = Case("second", [1, 32, 9, 9], [40, 32, 3, 3], channels=True, pads=[0] * 4, strides=[2, 2])
    second.x = first.expected
    models = [onnx.load(case.model(tmp_path / f"{case.name}.onnx")) for case in (first, second)]
    whole = onnx.compose.merge_models(onnx.compose.add_prefix(models[0], "first_"), onnx.compose.add_prefix(models[1], "second_"),
                                      [("first_y", "second_x")])  # fmt: skip
    del whole.opset_import[1:]  # the merge names the one domain twice
    save(whole, tmp_path / "whole.onnx")
    compiled = hexagon.compile_model(tmp_path / "whole.onnx", tmp_path / "whole.o", "--emit", "obj")
    program, expected = hexagon.link(compiled, host, tmp_path / "whole.elf"), second.expected
    results, steps = hexagon.run(program, {"x": first.x}, {"y": ("uint8", expected.shape)}, tmp_path)
    same(results["y"], expected)
    assert [step.name.split("+")[0] for step in steps] == ["transpose", "conv", "conv", "transpose"]


@pytest.mark.parametrize("cpu", ["hexagonv67", "hexagonv68", "hexagonv69", "hexagonv71", "hexagonv73", "hexagonv75"])
def test_versions(cpu, host, tmp_path):
    """Every version that can be asked for has the code; the emulator runs v67 (and v66, above)."""
    case = Case("versions", [4, 16], [16, 40])
    compiled = hexagon.compile_model(case.model(tmp_path / "m.onnx"), tmp_path / "m.o", "--emit", "obj", "--cpu", cpu)
    listing = execute(["llvm-objdump-22", "-d", f"--mcpu={cpu}", f"--mattr=+hvx{cpu[7:]}", compiled], 60)
    assert "vrmpy" in listing
    if cpu == "hexagonv67":
        program = hexagon.link(compiled, host, tmp_path / "m.elf")
        outputs = {"y": (case.kinds[2], case.expected.shape)}
        same(hexagon.run(program, {"x": case.x}, outputs, tmp_path)[0]["y"], case.expected)


def test_moves(host, tmp_path):
    """Copies of elements of every width, contiguous or not."""
    rng = np.random.default_rng(1)
    inputs = {f"x{i}": rng.integers(0, 100, shape).astype(dtype)
              for i, (shape, dtype) in enumerate([((3, 50, 7), "uint8"), ((3, 50, 9), "uint8"), ((4, 5, 300), "float32"),
                                                  ((2, 6, 5), "int64"), ((30, 200), "int16")])}  # fmt: skip
    x = list(inputs.values())
    expected = {"y0": np.concatenate(x[:2], axis=2), "y1": x[2].transpose(1, 0, 2), "y2": x[3].transpose(2, 1, 0),
                "y3": x[4][3:25:2, 150:]}  # fmt: skip
    constants = {"starts": [3, 150], "ends": [25, 200], "axes": [0, 1], "steps": [2, 1]}
    nodes = [helper.make_node("Concat", ["x0", "x1"], ["y0"], axis=2),
             helper.make_node("Transpose", ["x2"], ["y1"], perm=[1, 0, 2]),
             helper.make_node("Transpose", ["x3"], ["y2"], perm=[2, 1, 0]),
             helper.make_node("Slice", ["x4", *constants], ["y3"])]  # fmt: skip

    def ports(arrays):
        return [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                for name, array in arrays.items()]  # fmt: skip

    graph = helper.make_graph(nodes, "g", ports(inputs), ports(expected),
                              [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in constants.items()])  # fmt: skip
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    compiled = hexagon.compile_model(tmp_path / "m.onnx", tmp_path / "m.o", "--emit", "obj")
    outputs = {name: (array.dtype.name, array.shape) for name, array in expected.items()}
    results, steps = hexagon.run(hexagon.link(compiled, host, tmp_path / "m.elf"), inputs, outputs, tmp_path)
    for name, array in expected.items():
        same(results[name], array)
    assert any(step.hvx for step in steps)  # runs of 300 floats are vectors
