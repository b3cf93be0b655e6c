"""Generated kernels: right for every size, and the numeric contract. A result does not depend on threads, tiles, tails or
neighbours in a batch: the same bits for one thread and three, for a row alone and in a batch."""

import mopt
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.skipif(not hasattr(mopt._core, "compile_bytes"), reason="the module was built without the compiler")


def model_of(nodes, inputs, constants, rank):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def both(proto, cpu, **feeds):
    """The result with one thread, after a check that three give the same bits."""
    model = mopt.compile(proto, cpu=cpu)
    one = model.run(feeds)["y"]
    three = mopt.compile(proto, cpu=cpu, threads=3).run(feeds)["y"]
    assert one.tobytes() == three.tobytes()
    return model, one


def close(got, want, terms):
    """Rounding of `terms` additions of values of magnitude one, with room."""
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=4e-7 * max(terms, 8))


CPUS = ["x86-64-v2", "x86-64-v3", "native"]


# Rows of one tile and several, rests of rows, panels and lanes; k below, at and above the unrolling.
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (1, 64, 100), (7, 3, 16), (13, 37, 33), (50, 5, 64), (6, 130, 96), (29, 4, 250)]
)
def test_matmul_sizes(cpu, m, k, n):
    rng = np.random.default_rng(m * 1000 + n)
    a, w, c = (rng.standard_normal(s).astype(np.float32) for s in [(m, k), (k, n), (n,)])
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["t"], name="product"),
        helper.make_node("Add", ["t", "c"], ["u"], name="bias"),
        helper.make_node("Relu", ["u"], ["y"], name="relu"),
    ]
    proto = model_of(nodes, {"a": ["m", k]}, {"w": w, "c": c}, 2)
    model, y = both(proto, cpu, a=a)
    close(y, np.maximum(a.astype(np.float64) @ w + c, 0), k)
    alone = np.concatenate([model.run({"a": a[i : i + 1]})["y"] for i in range(m)])
    assert alone.tobytes() == y.tobytes(), "a row alone has other bits than in a batch"


# Both operands from outside: the right one is packed when the model runs. Batch axes broadcast; the last sizes are symbols.
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("left", "right"), [((2, 3, 5, 7), (2, 3, 7, 20)), ((3, 5, 7), (1, 7, 9)), ((4, 5, 7), (7, 35)), ((5, 7), (2, 7, 16))]
)
def test_matmul_of_two_inputs(transposed, left, right):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal(left).astype(np.float32), rng.standard_normal(right).astype(np.float32)
    want = a.astype(np.float64) @ b
    nodes, name = [], "b"
    if transposed:
        b = np.ascontiguousarray(np.swapaxes(b, -1, -2))
        perm = [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]
        nodes, name = [helper.make_node("Transpose", ["b"], ["bt"], perm=perm)], "bt"
    nodes.append(helper.make_node("MatMul", ["a", name], ["y"], name="product"))
    dims = {
        "a": [*left[:-2], "m", "k"],
        "b": [*right[:-2], "n", "k"] if transposed else [*right[:-2], "k", "n"],
    }
    _, y = both(model_of(nodes, dims, {}, want.ndim), "native", a=a, b=b)
    close(y, want, left[-1])


@pytest.mark.parametrize(("trans_b", "c_shape"), [(0, (9,)), (1, (9,)), (1, (4, 1)), (0, (1,)), (1, None)])
def test_gemm_forms(trans_b, c_shape):
    rng = np.random.default_rng(5)
    a = rng.standard_normal((4, 11)).astype(np.float32)
    b = rng.standard_normal((9, 11) if trans_b else (11, 9)).astype(np.float32)
    constants, names = {"b": b}, ["a", "b"]
    want = a.astype(np.float64) @ (b.T if trans_b else b)
    if c_shape:
        constants["c"] = rng.standard_normal(c_shape).astype(np.float32)
        names.append("c")
        want = want + constants["c"]
    proto = model_of([helper.make_node("Gemm", names, ["y"], name="gemm", transB=trans_b)], {"a": [4, 11]}, constants, 2)
    _, y = both(proto, "native", a=a)
    close(y, want, 11)


# An epilogue reads operands of every form: full, a row, a column, one element, one for each batch.
@pytest.mark.parametrize(
    "shape", [(2, 3, 5, 20), (20,), (5, 1), (1,), (2, 1, 1, 1), (3, 1, 20), (2, 3, 1, 1), (2, 1, 5, 20)]
)
def test_epilogue_operands(shape):
    rng = np.random.default_rng(7)
    a, w = rng.standard_normal((2, 3, 5, 8)).astype(np.float32), rng.standard_normal((8, 20)).astype(np.float32)
    e = rng.standard_normal(shape).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["t"], name="product"),
        helper.make_node("Mul", ["t", "e"], ["y"], name="scale"),
    ]
    proto = model_of(nodes, {"a": ["p", "q", "m", 8], "e": list(shape)}, {"w": w}, 4)
    fixed = model_of(nodes, {"a": [2, 3, 5, 8], "e": list(shape)}, {"w": w}, 4)
    want = (a.astype(np.float64) @ w) * e
    for form in (fixed, proto):
        _, y = both(form, "native", a=a, e=e)
        close(y, want, 8)


def conv_reference(proto, **feeds):
    """By onnxruntime; its sums are of another order."""
    session = pytest.importorskip("onnxruntime").InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)[0]


CONVS = [
    # channels in, out, group, x, kernel, attributes
    (3, 16, 1, (1, 9, 9), (3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    (3, 8, 1, (2, 8, 7), (3, 3), {"pads": [0, 1, 2, 0]}),
    (16, 33, 1, (1, 6, 5), (3, 3), {"pads": [1, 1, 1, 1]}),
    (40, 20, 1, (2, 5, 6), (3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}),
    (8, 24, 1, (1, 7, 4), (1, 1), {}),
    (8, 24, 1, (1, 7, 5), (1, 1), {"strides": [2, 2]}),
    (8, 16, 2, (1, 6, 6), (3, 3), {"pads": [1, 1, 1, 1], "group": 2}),
    (18, 18, 18, (2, 8, 9), (3, 3), {"pads": [1, 1, 1, 1], "group": 18}),
    (16, 16, 16, (1, 9, 12), (5, 3), {"pads": [2, 0, 1, 1], "strides": [2, 2], "group": 16}),
    (5, 5, 5, (1, 7, 7), (3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2], "group": 5}),
    (12, 20, 1, (2, 15), (5,), {"pads": [2, 2]}),
    (4, 6, 1, (1, 4, 5, 6), (2, 3, 3), {"pads": [0, 1, 1, 1, 1, 1]}),
    (6, 7, 1, (1, 5, 5), (3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    (6, 7, 1, (1, 6, 2), (3, 3), {"auto_pad": "SAME_LOWER"}),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("case", CONVS, ids=str)
def test_conv(case, dynamic):
    channels, outputs, group, (images, *sizes), kernel, attributes = case
    rng = np.random.default_rng(11)
    x = rng.standard_normal((images, channels, *sizes)).astype(np.float32)
    w = rng.standard_normal((outputs, channels // group, *kernel)).astype(np.float32)
    c = rng.standard_normal(outputs).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w", "c"], ["t"], name="conv", **attributes),
        helper.make_node("Relu", ["t"], ["u"], name="relu"),
        # A second one, so that the pixels between them may lie in any order.
        helper.make_node("Conv", ["u", "v"], ["y"], name="last"),
    ]
    v = rng.standard_normal((4, outputs, *[1] * len(kernel))).astype(np.float32)
    dims = ["n", channels, *[f"s{i}" for i in range(len(sizes))]] if dynamic else list(x.shape)
    proto = model_of(nodes, {"x": dims}, {"w": w, "c": c, "v": v}, x.ndim)
    model, y = both(proto, "native", x=x)
    want = conv_reference(proto, x=x)
    assert y.shape == want.shape
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
    if dynamic:
        alone = np.concatenate([model.run({"x": x[i : i + 1]})["y"] for i in range(images)])
        assert alone.tobytes() == y.tobytes(), "an image alone has other bits than in a batch"


# Transposes around a matrix product run no step: rows are read and written where they lie, the right operand is packed.
def test_attention_orders():
    rng = np.random.default_rng(13)
    q, k, v = (rng.standard_normal((2, 9, 3, 8)).astype(np.float32) for _ in range(3))
    nodes = [
        helper.make_node("Transpose", ["q"], ["qt"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["v"], ["vt"], perm=[0, 2, 1, 3]),
        helper.make_node("MatMul", ["qt", "kt"], ["s"], name="scores"),
        helper.make_node("Relu", ["s"], ["p"], name="relu"),
        helper.make_node("MatMul", ["p", "vt"], ["o"], name="values"),
        helper.make_node("Transpose", ["o"], ["y"], perm=[0, 2, 1, 3]),
    ]
    dims = ["b", "s", 3, 8]
    _, y = both(model_of(nodes, {"q": dims, "k": dims, "v": dims}, {}, 4), "native", q=q, k=k, v=v)
    scores = np.maximum(np.einsum("bqhd,bkhd->bhqk", q.astype(np.float64), k), 0)
    close(y, np.einsum("bhqk,bkhd->bqhd", scores, v), 100)


# A result without axes has an epilogue like any other.
def test_epilogue_of_a_scalar():
    x = np.random.default_rng(17).standard_normal((3, 5)).astype(np.float32)
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], name="sum", keepdims=0),
        helper.make_node("Neg", ["s"], ["m"], name="minus"),
        helper.make_node("Mul", ["m", "c"], ["y"], name="scale"),
    ]
    _, y = both(model_of(nodes, {"x": ["n", 5]}, {"c": np.float32(3)}, 0), "native", x=x)
    close(y, np.float64(-3) * x.astype(np.float64).sum(), 15)
