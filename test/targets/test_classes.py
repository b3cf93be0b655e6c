"""One kernel op, every class of targets: a product with bias and ReLU and a 3x3 convolution with bias and ReLU, from the same
model files, run as AVX2, AVX-512, NEON and Vulkan compute shaders in floats, and as integers requantized in fixed point on
CPUs and Hexagon, where the results must be equal bit for bit. What cannot run here is skipped by name."""

import sys
from pathlib import Path

import mopt
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

sys.path += [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]

import hexagon
import raw
import test_vulkan
from drivers import CliDriver
from test_vulkan import device  # noqa: F401  the fixture

CPUS = ["x86-64-v3", "x86-64-v4", "aarch64"]


def skip(message):
    print(f"\nNOT TESTED: {message}", file=sys.__stderr__, flush=True)
    pytest.skip(f"NOT TESTED: {message}")


def matmul():
    """Model, inputs, and what it means in float64. Rows, columns and depth that are no multiple of any tile."""
    rng = np.random.default_rng(1)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in [(37, 45), (45, 51), (51,)])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["t"], name="product"),
        helper.make_node("Add", ["t", "b"], ["u"], name="bias"),
        helper.make_node("Relu", ["u"], ["y"], name="relu"),
    ]
    return test_vulkan.model(nodes, {"x": x.shape}, ["y"], {"w": w, "b": b}), x, np.maximum(x.astype(np.float64) @ w + b, 0)


def convolution():
    rng = np.random.default_rng(2)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in [(2, 7, 13, 11), (19, 7, 3, 3), (19,)])
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["t"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["t"], ["y"], name="relu"),
    ]
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    want = np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None]
    return test_vulkan.model(nodes, {"x": x.shape}, ["y"], {"w": w, "b": b}), x, np.maximum(want, 0)


def run_cpu(proto, x, cpu, folder, requantize=""):
    """The result on a CPU: in this process, or under emulation."""
    path = folder / "model.onnx"
    save(proto, path)
    if cpu == "aarch64":
        if not raw.aarch64_is_possible():
            skip("NEON: apt-get install qemu-user libc6-dev-arm64-cross libgcc-12-dev-arm64-cross")
        compiled = CliDriver(timeout=300).compile(path, triple=raw.AARCH64, requantize=requantize)
        return raw.run(raw.build_aarch64(folder), compiled.path, {"x": x}, folder)["y"]
    model = mopt.compile(path, cpu=cpu, requantize=requantize)
    if not model.runs_here:
        skip(f"{cpu}: this processor lacks its instructions")
    return model.run({"x": x})["y"]


@pytest.mark.parametrize("make", [matmul, convolution])
@pytest.mark.parametrize("target", [*CPUS, "vulkan"])
def test_floats(make, target, request, tmp_path):
    proto, x, want = make()
    if target == "vulkan":
        request.getfixturevalue("device")
        compiled = test_vulkan.compile_(proto, tmp_path / "m", "--quiet")
        assert compiled.returncode == 0, compiled.stderr
        y = test_vulkan.run_folder(tmp_path / "m", {"x": x})["y"]
    else:
        y = run_cpu(proto, x, target, tmp_path)
    assert y.shape == want.shape
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=2e-6 * np.abs(want).max())


def quantized_convolution():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (2, 7, 13, 11)).astype(np.uint8)
    w = rng.integers(-127, 128, (37, 7, 3, 3)).astype(np.int8)
    constants = {
        "w": w,
        "b": rng.integers(-9000, 9000, 37).astype(np.int32),
        "xs": np.float32(0.02),
        "xz": np.uint8(131),
        "ws": (0.003 * 2.0 ** rng.uniform(-2, 2, 37)).astype(np.float32),
        "wz": np.zeros(37, np.int8),
        "ys": np.float32(0.06),
        "yz": np.uint8(0),  # ReLU: the clamp's lower bound is zero
    }
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    graph = helper.make_graph(
        [helper.make_node("QLinearConv", names, ["y"], name="conv", pads=[1, 1, 1, 1])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [2, 37, 13, 11])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), x


@pytest.mark.parametrize("target", ["x86-64-v2", *CPUS, "hexagon"])
def test_integers_in_fixed_point(target, tmp_path):
    proto, x = quantized_convolution()
    path = tmp_path / "model.onnx"
    save(proto, path)
    want = mopt.compile(path, requantize="fixed").run({"x": x})["y"]
    assert 0.2 < (want > 0).mean() < 0.95, "the lower bound and the values above it both occur"
    if target == "hexagon":
        if not hexagon.EMULATOR:
            skip("Hexagon: apt-get install qemu-user")
        compiled = hexagon.compile_model(path, tmp_path / "m.o", "--emit", "obj")
        program = hexagon.link(compiled, hexagon.build_host(tmp_path), tmp_path / "m.elf")
        y = hexagon.run(program, {"x": x}, {"y": ("uint8", want.shape)}, tmp_path)[0]["y"]
    else:
        y = run_cpu(proto, x, target, tmp_path, "fixed")
    assert y.tobytes() == want.tobytes()
