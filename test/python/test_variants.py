"""Variants of steps, and the numeric contract for tiles: one accumulator for each element, the contraction ascending, so the
bits of a result do not depend on how many rows and panels a register tile has, nor on threads or neighbours in the batch."""

import mopt
import numpy as np
import pytest
from onnx import helper
from test_kernels import model_of

pytestmark = pytest.mark.skipif(not hasattr(mopt._core, "compile_bytes"), reason="the module was built without the compiler")

TILES = [(1, 1), (2, 1), (5, 1), (8, 1), (3, 2), (6, 2), (2, 3), (1, 4), (8, 4)]


def same_bits_everywhere(proto, feeds, batch=True):
    """Runs every tile with 1 and 3 threads, and each item of the batch alone."""
    serial, pooled = (mopt.compile(proto, tiles=TILES, threads=threads) for threads in (1, 3))
    assert len(serial.variants) > 1, "no step has tiles: nothing is tested"
    want = serial.run(feeds)["y"]
    for variant in serial.variants:
        for model in (serial, pooled):
            assert model.run(feeds, variant=variant)["y"].tobytes() == want.tobytes(), variant
        if batch:
            rows = range(len(want))
            alone = [serial.run({k: v[i : i + 1] for k, v in feeds.items()}, variant=variant)["y"] for i in rows]
            assert np.concatenate(alone).tobytes() == want.tobytes(), f"{variant}: a row alone has other bits"


@pytest.mark.parametrize("seed", range(6))
def test_matmul(seed):
    rng = np.random.default_rng(seed)
    m, k, n = (int(rng.integers(1, high)) for high in (40, 90, 150))
    w, c = rng.standard_normal((k, n)).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["t"], name="product"),
        helper.make_node("Add", ["t", "c"], ["u"], name="bias"),
        helper.make_node("Sigmoid" if seed % 2 else "Relu", ["u"], ["y"], name="activation"),
    ]
    proto = model_of(nodes, {"a": ["m", k]}, {"w": w, "c": c}, 2)
    same_bits_everywhere(proto, {"a": rng.standard_normal((m, k)).astype(np.float32)})


@pytest.mark.parametrize("seed", range(8))
def test_convolution(seed):
    rng = np.random.default_rng(100 + seed)
    group = int(rng.choice([1, 1, 2]))
    channels, outputs = int(rng.integers(5, 20)) * group, int(rng.integers(9, 30)) * group
    kernel, stride, dilation = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    size = [int(x) for x in rng.integers(5, 14, 2)]
    w = rng.standard_normal((outputs, channels // group, kernel, kernel)).astype(np.float32)
    b = rng.standard_normal(outputs).astype(np.float32)
    nodes = [
        helper.make_node(
            "Conv",
            ["x", "w", "b"],
            ["t"],
            name="conv",
            group=group,
            strides=[stride] * 2,
            dilations=[dilation] * 2,
            pads=[kernel // 2] * 4,
        ),
        helper.make_node("Relu", ["t"], ["y"], name="relu"),
    ]
    proto = model_of(nodes, {"x": ["n", channels, *size]}, {"w": w, "b": b}, 4)
    if group > 1 and channels == group == outputs:
        pytest.skip("depthwise: no tiles")
    same_bits_everywhere(proto, {"x": rng.standard_normal((3, channels, *size)).astype(np.float32)})


# So deep that k comes in parts, between which sums wait in memory: as the floats they are. With rests of rows, panels, lanes
# and k; an epilogue in registers and one on the tile; a sum written over its operand.
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1024, 8), (13, 1024, 40), (50, 2049, 100), (7, 2306, 24)])
@pytest.mark.parametrize("activation", ["Relu", "Erf"])
def test_deep_products(m, k, n, activation):
    rng = np.random.default_rng(k + n)
    w, v = (rng.standard_normal(shape).astype(np.float32) / np.float32(k**0.5) for shape in [(k, n), (k, n)])
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["t"], name="first"),
        helper.make_node("MatMul", ["a", "v"], ["u"], name="second"),
        helper.make_node("Add", ["u", "t"], ["s"], name="residual"),
        helper.make_node(activation, ["s"], ["y"], name="activation"),
    ]
    proto = model_of(nodes, {"a": ["m", k]}, {"w": w, "v": v}, 2)
    a = rng.standard_normal((m, k)).astype(np.float32)
    same_bits_everywhere(proto, {"a": a})
    plain = model_of(
        [helper.make_node("Add", ["u", "t"], ["y"], name="residual"), *nodes[:2]][::-1], {"a": ["m", k]}, {"w": w, "v": v}, 2
    )
    want = np.zeros((m, n), np.float32)
    for first in (w, v):  # one accumulator, k ascending, each step rounded once: what fused multiply-adds do
        total = np.zeros((m, n), np.float32)
        for i in range(k):
            total = (a[:, i : i + 1].astype(np.float64) * first[i] + total).astype(np.float32)
        want = want + total
    np.testing.assert_array_equal(mopt.compile(plain).run({"a": a})["y"], want)


def test_product_of_two_inputs():
    rng = np.random.default_rng(7)
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"], name="product")]
    proto = model_of(nodes, {"a": ["n", "m", "k"], "b": ["n", "k", "c"]}, {}, 3)
    a, b = rng.standard_normal((3, 11, 23)).astype(np.float32), rng.standard_normal((3, 23, 37)).astype(np.float32)
    same_bits_everywhere(proto, {"a": a, "b": b})


# A residual sum is written over its operand, which must have been read before.
def test_residual_in_place():
    rng = np.random.default_rng(8)
    w, v = (rng.standard_normal((48, 48)).astype(np.float32) for _ in range(2))
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["t"], name="first"),
        helper.make_node("MatMul", ["a", "v"], ["u"], name="second"),
        helper.make_node("Add", ["u", "t"], ["y"], name="residual"),
    ]
    proto = model_of(nodes, {"a": ["m", 48]}, {"w": w, "v": v}, 2)
    a = rng.standard_normal((21, 48)).astype(np.float32)
    same_bits_everywhere(proto, {"a": a})
    want = a.astype(np.float64) @ w + a.astype(np.float64) @ v
    np.testing.assert_allclose(mopt.compile(proto).run({"a": a})["y"], want, rtol=1e-5, atol=4e-5)


def test_unknown_variant():
    proto = model_of([helper.make_node("Relu", ["a"], ["y"])], {"a": ["m"]}, {}, 1)
    model = mopt.compile(proto)
    with pytest.raises(mopt.MoptError, match="MOPT-T014.*there are: default"):
        model.run({"a": np.zeros(3, np.float32)}, variant="tile_2x1")
    with pytest.raises(mopt.MoptError, match="MOPT-T031"):
        mopt.compile(proto, tiles=[(9, 1)])
