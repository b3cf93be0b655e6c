"""Models compiled for Vulkan: valid SPIR-V, no objection of the validation layer, and the numbers of other engines.

They run on any Vulkan device; Debian's mesa-vulkan-drivers has one that is a CPU (lavapipe).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path

import mopt
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
COMPILER = Path(os.environ.get("MOPT_COMPILER", ROOT / "build/release/bin/mopt-compiler"))
HOST = COMPILER.with_name("vulkan-host")
TRIPLE = "spirv-unknown-vulkan1.1"
FILES = ["plan.json", "shaders.spv", "weights.bin"]

pytestmark = pytest.mark.skipif(not hasattr(mopt._core, "compile_bytes"), reason="the module was built without the compiler")


def model(nodes, inputs, outputs, constants=()):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(constants).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return onnx.shape_inference.infer_shapes(made, strict_mode=True)


def compile_(source, folder, *arguments):
    path = folder.parent / (folder.name + ".onnx")
    path.write_bytes(source.SerializeToString())
    words = [COMPILER, "compile", path, "--triple", TRIPLE, "-o", folder, "--quiet", *arguments]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)


def run_folder(folder, inputs):
    """Outputs by name, of a folder that was compiled before."""
    plan = json.loads((folder / "plan.json").read_text())
    here, there = folder.parent / (folder.name + ".in"), folder.parent / (folder.name + ".out")
    for place in (here, there):
        place.mkdir(exist_ok=True)
    for i, port in enumerate(plan["inputs"]):
        assert list(inputs[port["name"]].shape) == port["dims"]
        (here / f"{i}.bin").write_bytes(inputs[port["name"]].astype(np.float32).tobytes())
    done = subprocess.run([HOST, folder, here, there], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        port["name"]: np.fromfile(there / f"{i}.bin", np.float32).reshape(port["dims"])
        for i, port in enumerate(plan["outputs"])
    }


@pytest.fixture(scope="session")
def device(tmp_path_factory):
    """Skips, saying what to install, where the tests cannot run."""
    if not HOST.exists():
        pytest.skip("vulkan-host was not built: apt-get install libvulkan-dev, then ./dev build")
    if not shutil.which("spirv-val"):
        pytest.skip("there is no spirv-val: apt-get install spirv-tools")
    folder = tmp_path_factory.mktemp("probe")
    source = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [3]}, ["y"])
    done = compile_(source, folder / "m")
    assert done.returncode == 0, done.stderr
    (folder / "0.bin").write_bytes(np.zeros(3, np.float32).tobytes())
    done = subprocess.run([HOST, folder / "m", folder, folder], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode == 77:
        pytest.skip(f"no Vulkan device ({done.stderr.strip()}): apt-get install mesa-vulkan-drivers")
    if "validation off" in done.stdout:
        warnings.warn("the validation layer is off: apt-get install vulkan-validationlayers", stacklevel=1)
    return done.stdout


@pytest.fixture
def check(device, tmp_path):
    """Compiles, validates and runs a model; compares with onnxruntime and with the CPU's artifact."""
    numbers = itertools.count()

    def run(source, inputs, rtol=1e-5):
        folder = tmp_path / f"m{next(numbers)}"
        done = compile_(source, folder)
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in folder.iterdir()) == FILES
        valid = subprocess.run(
            ["spirv-val", "--target-env", "vulkan1.1", folder / "shaders.spv"], capture_output=True, text=True, timeout=60
        )
        assert valid.returncode == 0, valid.stderr
        got = run_folder(folder, inputs)
        session = onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        other = dict(zip(names, session.run(names, inputs), strict=True))
        cpu = mopt.compile(source).run(inputs)
        for name in names:
            assert got[name].shape == other[name].shape
            for reference, who in ((other[name], "onnxruntime"), (cpu[name], "the CPU's artifact")):
                scale = max(1e-30, float(np.abs(reference).max(initial=0)))
                error = float(np.abs(got[name] - reference).max(initial=0)) / scale
                assert error <= rtol, f"{name}: {error:.3g} of the largest element away from {who}"
        return json.loads((folder / "plan.json").read_text()), got

    return run


def rand(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=f"{op}_{output}", **attributes)


# Sizes around the tiles of every schedule row (128, 64, 32 and 16 columns, 1, 8, 16 and 32 rows, 16 of k), and off them.
SIZES = [(1, 1, 1), (1, 40, 300), (7, 15, 17), (8, 16, 16), (33, 17, 65), (32, 64, 64), (50, 100, 129), (128, 3, 10)]


@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_product_with_bias_and_activation(check, m, k, n):
    rng = np.random.default_rng([m, k, n])
    source = model(
        [node("MatMul", ["x", "w"], "t"), node("Add", ["t", "b"], "u"), node("Relu", ["u"], "y")],
        {"x": [m, k]},
        ["y"],
        {"w": rand(rng, k, n), "b": rand(rng, n)},
    )
    plan, got = check(source, {"x": rand(rng, m, k)})
    # One step: bias and activation are in the epilogue, as on CPUs.
    assert [step["name"] for step in plan["steps"]] == ["matmul+add+relu"]
    assert plan["steps"][0]["macs"] == m * k * n
    assert plan["steps"][0]["nodes"] == ["MatMul_t", "Add_u", "Relu_y"]


def test_k_is_summed_in_one_ascending_chain_of_fma(check):
    """2^24 + 1 - 2^24 + ...: any other order, and any rounding between product and sum, gives other numbers."""
    k, rng = 37, np.random.default_rng(1)
    x, w = rand(rng, 5, k) * 1000, rand(rng, k, 3)
    source = model([node("MatMul", ["x", "w"], "y")], {"x": [5, k]}, ["y"], {"w": w})
    _, got = check(source, {"x": x})
    expected = np.zeros((5, 3))
    for i in range(k):
        expected = np.float32(x[:, i, None].astype(np.float64) * w[None, i] + expected).astype(np.float64)
    exact = np.mean(got["y"] == np.float32(expected))
    split = np.float32(0) * expected
    for i in range(k):
        split = np.float32(np.float32(x[:, i, None] * w[None, i]) + np.float32(split))
    # A driver may take fma apart (Vulkan leaves it that choice), but never reorder.
    assert exact > 0.99 or np.array_equal(got["y"], split)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("constant", [True, False])
def test_gemm(check, trans_a, trans_b, constant):
    rng = np.random.default_rng([trans_a, trans_b, constant])
    m, k, n = 19, 21, 35
    b = rand(rng, *((n, k) if trans_b else (k, n)))
    a = rand(rng, *((k, m) if trans_a else (m, k)))
    constants = {"c": rand(rng, n)} | ({"b": b} if constant else {})
    inputs = {"a": a} | ({} if constant else {"b": b})
    source = model(
        [node("Gemm", ["a", "b", "c"], "y", alpha=0.5, beta=2.0, transA=trans_a, transB=trans_b)],
        {name: list(value.shape) for name, value in inputs.items()},
        ["y"],
        constants,
    )
    check(source, inputs)


BATCHES = [((3, 5, 7), (3, 7, 9)), ((2, 1, 5, 7), (3, 7, 4)), ((4, 5, 7), (7, 9)), ((5, 7), (3, 7, 20)),
           ((2, 3, 4, 5), (2, 3, 5, 6)), ((3, 1, 18, 33), (1, 2, 33, 17))]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), BATCHES)
def test_batched_product_of_two_inputs(check, a, b):
    rng = np.random.default_rng(len(a) * 10 + len(b))
    shape = np.broadcast_shapes(a[:-2], b[:-2]) + (a[-2], b[-1])
    source = model(
        [node("MatMul", ["a", "b"], "t"), node("Mul", ["t", "s"], "u"), node("Add", ["u", "f"], "y")],
        {"a": list(a), "b": list(b), "f": list(shape)},
        ["y"],
        {"s": np.float32(0.125)},
    )
    check(source, {"a": rand(rng, *a), "b": rand(rng, *b), "f": rand(rng, *shape)})


def test_attention_shaped_products_with_transposes(check):
    """Heads: what is transposed is read where it lies (a_order, y_order), not copied."""
    rng = np.random.default_rng(5)
    n, s, h, d = 2, 9, 3, 8
    nodes = [
        node("Transpose", ["q"], "qt", perm=[0, 2, 1, 3]),
        node("Transpose", ["k"], "kt", perm=[0, 2, 3, 1]),
        node("MatMul", ["qt", "kt"], "p"),
        node("Transpose", ["v"], "vt", perm=[0, 2, 1, 3]),
        node("MatMul", ["p", "vt"], "o"),
        node("Transpose", ["o"], "y", perm=[0, 2, 1, 3]),
    ]
    shapes = {"q": [n, s, h, d], "k": [n, s, h, d], "v": [n, s, h, d]}
    check(model(nodes, shapes, ["y"]), {name: rand(rng, *shape) for name, shape in shapes.items()})


# channels, outputs, image, kernel, attributes
CONVS = [
    (3, 8, (8, 8), (3, 3), {"pads": [1, 1, 1, 1]}),
    (5, 7, (13, 11), (3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    (4, 33, (9, 10), (3, 2), {"pads": [0, 1, 2, 0]}),
    (8, 16, (12, 12), (3, 3), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    (6, 9, (7, 7), (3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    (8, 40, (6, 7), (5, 3), {"group": 2, "strides": [1, 2], "pads": [2, 1, 2, 1]}),
    (16, 20, (5, 5), (1, 1), {}),
    (16, 20, (9, 9), (1, 1), {"strides": [2, 2]}),
    (3, 5, (17,), (4,), {"strides": [3], "pads": [2, 1]}),
    (2, 6, (5, 6, 7), (2, 3, 3), {"pads": [0, 1, 1, 1, 1, 1]}),
    (6, 6, (9, 9), (3, 3), {"group": 6, "pads": [1, 1, 1, 1], "strides": [2, 1]}),  # depthwise
    (20, 20, (6, 5), (5, 5), {"group": 20, "pads": [2, 2, 2, 2], "dilations": [1, 1]}),
    (3, 64, (33, 33), (7, 7), {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
]


@pytest.mark.parametrize(("channels", "outputs", "image", "kernel", "attributes"), CONVS)
def test_convolution_with_bias_and_activation(check, channels, outputs, image, kernel, attributes):
    rng = np.random.default_rng([channels, outputs, *image])
    w = rand(rng, outputs, channels // attributes.get("group", 1), *kernel)
    source = model(
        [node("Conv", ["x", "w", "b"], "t", **attributes), node("Relu", ["t"], "y")],
        {"x": [2, channels, *image]},
        ["y"],
        {"w": w, "b": rand(rng, outputs)},
    )
    plan, _ = check(source, {"x": rand(rng, 2, channels, *image)})
    kinds = {"matmul", "conv", "depthwise"} & {step["name"].split("+")[0] for step in plan["steps"]}
    assert len(kinds) == 1
    # Where the layout pass leaves channels second, there is no epilogue: then relu is a step of its own.
    name = next(step["name"] for step in plan["steps"] if step["name"].split("+")[0] in kinds)
    assert name.endswith("+add+relu") or (name == "conv" and "relu" in [step["name"] for step in plan["steps"]])


@pytest.mark.parametrize("seed", range(8))
def test_random_convolution(check, seed):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 3))
    group = int(rng.choice([1, 1, 2, 4]))
    channels, outputs = group * int(rng.integers(1, 9)), group * int(rng.integers(1, 20))
    kernel = [int(v) for v in rng.integers(1, 5, axes)]
    dilations = [int(v) for v in rng.integers(1, 3, axes)]
    image = [int(v) for v in rng.integers(9, 20, axes)]
    attributes = {
        "group": group,
        "dilations": dilations,
        "strides": [int(v) for v in rng.integers(1, 4, axes)],
        "pads": [int(rng.integers(0, k)) for k in kernel + kernel],
    }
    source = model(
        [node("Conv", ["x", "w"], "t", **attributes), node("LeakyRelu", ["t"], "y", alpha=0.1)],
        {"x": [int(rng.integers(1, 4)), channels, *image]},
        ["y"],
        {"w": rand(rng, outputs, channels // group, *kernel)},
    )
    shape = [d.dim_value for d in source.graph.input[0].type.tensor_type.shape.dim]
    check(source, {"x": rand(rng, *shape)})


def test_residual_network(check):
    """Steps read what steps wrote: buffers share the arena, entry points are shared by equal layers."""
    rng = np.random.default_rng(9)
    c, nodes, constants, at = 16, [], {}, "x"
    for i in range(3):
        constants |= {f"w{i}": rand(rng, c, c, 3, 3) * 0.1, f"v{i}": rand(rng, c, c, 3, 3) * 0.1, f"b{i}": rand(rng, c)}
        nodes += [
            node("Conv", [at, f"w{i}", f"b{i}"], f"a{i}", pads=[1, 1, 1, 1]),
            node("Relu", [f"a{i}"], f"r{i}"),
            node("Conv", [f"r{i}", f"v{i}"], f"c{i}", pads=[1, 1, 1, 1]),
            node("Add", [f"c{i}", at], f"s{i}"),
            node("Relu", [f"s{i}"], f"x{i}"),
        ]
        at = f"x{i}"
    plan, _ = check(model(nodes, {"x": [1, c, 14, 14]}, [at], constants), {"x": rand(rng, 1, c, 14, 14)})
    convs = [step for step in plan["steps"] if step["name"].startswith("conv")]
    assert len(convs) == 6 and len({step["entry"] for step in convs}) == 2
    spans = [(b["offset"], b["offset"] + b["bytes"]) for b in plan["buffers"] if b["kind"] == "arena"]
    assert sum(end - begin for begin, end in spans) > plan["arena"]["bytes"]


# op: (attributes, further operands)
UNARY = {
    "Relu": {}, "LeakyRelu": {"alpha": 0.2}, "Neg": {}, "Abs": {}, "Sqrt": {}, "Exp": {}, "Tanh": {}, "Sigmoid": {},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4}, "HardSwish": {}, "Erf": {}, "Gelu": {"approximate": "none"}, "Softplus": {},
    "Mish": {}, "Elu": {"alpha": 1.5}, "Selu": {}, "Celu": {"alpha": 2.0}, "Softsign": {}, "ThresholdedRelu": {"alpha": 0.7},
    "Floor": {}, "Ceil": {}, "Round": {}, "Sign": {}, "Reciprocal": {}, "Log": {}, "Atan": {},
}  # fmt: skip


def test_every_elementwise_op_in_an_epilogue(device, tmp_path):
    """One model with a product for each op, so that the device is started once. NaN and infinity are compared as such."""
    rng = np.random.default_rng(3)
    nodes, outputs = [], []
    constants = {"w": np.eye(24, dtype=np.float32), "c": np.float32(0.75), "lo": np.float32(-0.5), "hi": np.float32(1.25)}
    for op, attributes in UNARY.items():
        nodes += [node("MatMul", ["x", "w"], f"t{op}"), node(op, [f"t{op}"], op, **attributes)]
        outputs.append(op)
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu"):
        nodes += [node("MatMul", ["x", "w"], f"t{op}"), node(op, [f"t{op}", "z"], op)]
        outputs.append(op)
    nodes += [node("MatMul", ["x", "w"], "tClip"), node("Clip", ["tClip", "lo", "hi"], "Clip")]
    nodes += [node("MatMul", ["x", "w"], "ts"), node("Sigmoid", ["ts"], "us"), node("Mul", ["ts", "us"], "Silu")]
    nodes += [node("MatMul", ["x", "w"], "tw"), node("Less", ["tw", "c"], "uw"), node("Where", ["uw", "c", "tw"], "Where")]
    outputs += ["Clip", "Silu", "Where"]
    x = np.concatenate([rand(rng, 20, 24) * 3, rng.uniform(-100, 100, (20, 24)).astype(np.float32)])
    x[0, :6] = [0, -0.0, 1, -1, 88, -88]
    z = rand(rng, 40, 24)
    source = model(nodes, {"x": [40, 24], "z": [40, 24]}, outputs, constants)
    # The CPU's artifact has the same formulas, and is held to doubles elsewhere (test_vector_math.py).
    cpu = mopt.compile(source).run({"x": x, "z": z})
    done = compile_(source, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    plan, got = json.loads((tmp_path / "m" / "plan.json").read_text()), run_folder(tmp_path / "m", {"x": x, "z": z})
    for name in outputs:
        finite = np.isfinite(cpu[name])
        assert np.array_equal(np.isnan(cpu[name]), np.isnan(got[name])), name
        assert np.array_equal(cpu[name][~finite & ~np.isnan(cpu[name])], got[name][~finite & ~np.isnan(cpu[name])]), name
        away = np.abs(got[name][finite].astype(np.float64) - cpu[name][finite])
        # Vulkan lets division be 2.5 units off, and fma be two roundings. 1 + erf cancels for negative x, as on CPUs.
        allowed = 16 * np.spacing(np.maximum(np.abs(cpu[name][finite]), np.float32(1e-37)))
        if name == "Gelu":
            allowed = np.maximum(allowed, 8e-7 * np.abs(x[finite]))
        worst = float((away / allowed).max(initial=0))
        assert worst <= 1, f"{name}: {worst:.3g} times the error that is allowed"
    apart = [step["name"] for step in plan["steps"] if not step["name"].startswith("matmul+")]
    # A value that is compared and chosen has two readers, which grouping leaves apart; everything else is fused.
    assert apart == ["matmul", "less+where"], apart


REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare"]


def test_reductions(check, tmp_path):
    rng = np.random.default_rng(6)
    nodes, constants = [], {}
    for name, axes in (("a", [1]), ("b", [0, 2]), ("c", [2]), ("d", [0, 1, 2])):
        constants[name] = np.array(axes, np.int64)
        for op in REDUCTIONS:
            nodes.append(node(f"Reduce{op}", ["x", name], op + name, keepdims=int(name != "c")))
    x = rand(rng, 5, 7, 83) * 0.3 + 1
    check(model(nodes, {"x": [5, 7, 83]}, [n.output[0] for n in nodes], constants), {"x": x})
    x[2, 3, 4] = np.nan
    source = model([node("ReduceMax", ["x", "c"], "y", keepdims=0)], {"x": [5, 7, 83]}, ["y"], {"c": constants["c"]})
    assert compile_(source, tmp_path / "nan").returncode == 0
    got = run_folder(tmp_path / "nan", {"x": x})["y"]
    assert np.argwhere(np.isnan(got)).tolist() == [[2, 3]]
    empty = model([node("ReduceSum", ["x", "c"], "y", keepdims=0)], {"x": [5, 7, 0]}, ["y"], {"c": constants["c"]})
    check(empty, {"x": np.zeros((5, 7, 0), np.float32)})


def test_a_trained_network(device, tmp_path):
    """All of a residual network, pooling included: what it says of images is what the CPU's artifact says."""
    source = onnx.load(ROOT / "test/models/fashion_resnet.onnx")
    done = compile_(source, tmp_path / "m", "--shape", "x=3x1x28x28")
    assert done.returncode == 0, done.stderr
    x = np.random.default_rng(0).random((3, 1, 28, 28), np.float32)
    got, cpu = run_folder(tmp_path / "m", {"x": x})["logits"], mopt.compile(source).run({"x": x})["logits"]
    assert np.abs(got - cpu).max() <= 1e-5 * np.abs(cpu).max()


def test_elementwise_groups_with_broadcasts(check):
    rng = np.random.default_rng(4)
    source = model(
        [node("Mul", ["x", "r"], "t"), node("Add", ["t", "c"], "u"), node("Tanh", ["u"], "y")],
        {"x": [3, 4, 50], "r": [3, 1, 50], "c": [4, 1]},
        ["y"],
    )
    check(source, {"x": rand(rng, 3, 4, 50), "r": rand(rng, 3, 1, 50), "c": rand(rng, 4, 1)})


def test_more_workgroups_than_fit_along_one_axis(check):
    """65535 * 128 elements fit along x."""
    count = 65535 * 128 + 1000
    x = np.arange(count, dtype=np.float32) % 1013 - 500
    plan, _ = check(model([node("Relu", ["x"], "y")], {"x": [count]}, ["y"]), {"x": x})
    x_groups, y_groups, _ = plan["shaders"]["entries"][0]["workgroups"]
    assert y_groups == 2 and x_groups * y_groups * 128 >= count


def test_empty_tensors(check):
    rng = np.random.default_rng(2)
    w = np.zeros((0, 4), np.float32)
    source = model([node("MatMul", ["x", "w"], "t"), node("Add", ["t", "b"], "y")], {"x": [3, 0]}, ["y"],
                   {"w": w, "b": rand(rng, 4)})  # fmt: skip
    check(source, {"x": np.zeros((3, 0), np.float32)})


def refused(source, folder, *arguments):
    done = compile_(source, folder, *arguments)
    assert done.returncode == 2, done.stderr
    assert not folder.exists() or folder.is_file() or sorted(p.name for p in folder.iterdir()) != FILES
    return done.stderr


def test_explain(tmp_path):
    source = model([node("MatMul", ["x", "w"], "t"), node("Relu", ["t"], "y")], {"x": [4, 8]}, ["y"],
                   {"w": np.ones((8, 8), np.float32)})  # fmt: skip
    (tmp_path / "m.onnx").write_bytes(source.SerializeToString())
    words = [COMPILER, "explain", tmp_path / "m.onnx", "--triple", TRIPLE, "--json", tmp_path / "why.json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    why = json.loads((tmp_path / "why.json").read_text())
    assert why["triple"] == TRIPLE
    assert [(step["name"], step["code"], step["macs"]) for step in why["steps"]] == [("matmul+relu", "generated", 256)]


def test_refusals_name_code_and_node(tmp_path):
    folder = tmp_path / "m"
    relu = model([node("Relu", ["x"], "y")], {"x": ["n", 3]}, ["y"])
    text = refused(relu, folder)
    assert "MOPT-C020" in text and "'n'" in text and "--shape" in text and "Relu_y" in text
    assert compile_(relu, folder, "--shape", "x=2x3").returncode == 0
    text = refused(model([node("Softmax", ["x"], "y")], {"x": [2, 3]}, ["y"]), tmp_path / "s")
    assert "MOPT-C021" in text and "Softmax_y" in text
    w = np.eye(3, dtype=np.float32)
    sin = model([node("MatMul", ["x", "w"], "t"), node("Sin", ["t"], "y")], {"x": [2, 3]}, ["y"], {"w": w})
    text = refused(sin, tmp_path / "e")
    assert "MOPT-C021" in text and "Sin_y" in text and "'sin'" in text
    cast = model([node("Cast", ["x"], "t", to=TensorProto.DOUBLE), node("Cast", ["t"], "y", to=TensorProto.FLOAT)],
                 {"x": [2, 3]}, ["y"])  # fmt: skip
    refused(cast, tmp_path / "c")
    good = model([node("Relu", ["x"], "y")], {"x": [2, 3]}, ["y"])
    assert "MOPT-C011" in refused(good, tmp_path / "o", "--emit", "obj")
    assert "MOPT-C012" in refused(good, tmp_path / "o", "--cpu", "native")
    assert "MOPT-C033" in refused(good, tmp_path / "o", "--tiles", "4x1")


def test_folder_appears_whole_and_only_ours_are_replaced(tmp_path):
    source = model([node("Relu", ["x"], "y")], {"x": [2, 3]}, ["y"])
    other = model([node("Neg", ["x"], "y")], {"x": [2, 3]}, ["y"])
    folder = tmp_path / "m"
    assert compile_(source, folder).returncode == 0
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert compile_(other, folder).returncode == 0
    assert (folder / "shaders.spv").read_bytes() != first["shaders.spv"]
    assert compile_(source, folder).returncode == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first  # the same bytes again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "m.onnx"]  # nothing is left of the old ones

    (folder / "mine.txt").write_text("mine")
    before = (folder / "plan.json").read_bytes()
    text = compile_(other, folder)
    assert text.returncode == 2 and "MOPT-P005" in text.stderr
    assert (folder / "mine.txt").exists() and (folder / "plan.json").read_bytes() == before
    (tmp_path / "file").write_text("mine")
    assert "MOPT-P005" in compile_(other, tmp_path / "file").stderr
