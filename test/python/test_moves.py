"""Kernels that move elements, pool and resample: right for every size and element type, also where sizes are symbols, and the
same bits for one thread and three, for an image alone and in a batch."""

import mopt
import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper

pytestmark = pytest.mark.skipif(not hasattr(mopt._core, "compile_bytes"), reason="the module was built without the compiler")

CPUS = ["x86-64-v2", "x86-64-v3", "native"]


def model_of(nodes, feeds, constants, outputs, dims=None):
    """Inputs as `feeds`, with the sizes of `dims` where given."""
    dims = dims or {}
    kind = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(k, kind(v.dtype), dims.get(k, v.shape)) for k, v in feeds.items()],
        [helper.make_tensor_value_info(k, kind(next(iter(feeds.values())).dtype), None) for k in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def theirs(proto, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def check(nodes, feeds, constants, cpu, dims=None, tolerance=0.0, outputs=("y",)):
    """Results against onnxruntime, and three threads against one. Returns the model."""
    proto = model_of(nodes, feeds, constants, outputs, dims)
    want = theirs(proto, feeds)
    model = mopt.compile(proto, cpu=cpu)
    got = model.run(feeds)
    three = mopt.compile(proto, cpu=cpu, threads=3).run(feeds)
    for name, expected in zip(outputs, want, strict=True):
        assert got[name].tobytes() == three[name].tobytes(), "three threads give other bits"
        assert got[name].shape == expected.shape
        if tolerance:
            np.testing.assert_allclose(got[name], expected, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(got[name], expected)
    return model


def values(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


# Tiles, their edges, axes that move together, rows; every width of element.
TRANSPOSES = [
    ((37, 41), (1, 0)),
    ((64, 128), (1, 0)),
    ((3, 5), (1, 0)),
    ((200, 3), (1, 0)),
    ((2, 9, 12, 32), (0, 2, 1, 3)),
    ((2, 9, 12, 5), (0, 2, 1, 3)),
    ((2, 3, 17, 19), (0, 2, 3, 1)),
    ((2, 17, 19, 24), (0, 3, 1, 2)),
    ((3, 4, 5, 6, 7), (4, 2, 0, 3, 1)),
    ((2, 1, 3, 2, 2, 3, 9, 2), (7, 5, 3, 1, 6, 4, 2, 0)),
    ((0, 4, 5), (2, 0, 1)),
]


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("shape", "perm"), TRANSPOSES)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float16", "int64"])
def test_transpose(cpu, shape, perm, dtype):
    x = values(shape, dtype)
    node = helper.make_node("Transpose", ["x"], ["y"], perm=perm)
    check([node], {"x": x}, {}, cpu)
    check([node], {"x": x}, {}, cpu, {"x": [f"d{i}" for i in range(len(shape))]})


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("shape", "perm"), TRANSPOSES[:8])
def test_epilogue(cpu, shape, perm):
    x = values(shape)
    moved = [shape[p] for p in perm]
    feeds = {
        "x": x,
        "full": values(moved, seed=1),
        "row": values(moved[-1:], seed=2),
        "column": values([*moved[:-1], 1], seed=3),
    }
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=perm),
        helper.make_node("Add", ["t", "full"], ["a"]),
        helper.make_node("Mul", ["a", "row"], ["b"]),
        helper.make_node("Sub", ["b", "column"], ["c"]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    check(nodes, feeds, {}, cpu)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
def test_concat(cpu, dtype):
    for axis, widths in [(0, (3, 1, 5)), (1, (7, 16, 1, 40)), (2, (1, 1)), (2, (33, 64, 0, 5)), (-1, (3, 3))]:
        feeds = {}
        for i, width in enumerate(widths):
            shape = [3, 5, 6]
            shape[axis] = width
            feeds[f"x{i}"] = values(shape, dtype, i)
        node = helper.make_node("Concat", list(feeds), ["y"], axis=axis)
        check([node], feeds, {}, cpu)
        named = {k: [f"{k}w" if d == axis % 3 else f"d{d}" for d in range(3)] for k in feeds}
        check([node], feeds, {}, cpu, named)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("known", [True, False])
def test_slice_and_split(cpu, known):
    x = values((5, 37, 40))
    dims = None if known else {"x": ["a", "b", "c"]}
    big = 2**60
    for starts, ends, axes, steps in [
        ([1], [4], [0], [1]),
        ([0, 3], [big, -2], [2, 1], [1, 1]),
        ([-7], [big], [2], [1]),
        ([-100], [-1], [1], [3]),
        ([-1], [-big], [2], [-2]),
        ([30], [20], [1], [1]),
        ([50], [big], [1], [1]),
        ([2], [big], [2], [2]),
    ]:
        constants = {"s": np.array(starts), "e": np.array(ends), "a": np.array(axes), "t": np.array(steps)}
        check([helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"])], {"x": x}, constants, cpu, dims)
    split = helper.make_node("Split", ["x", "n"], ["a", "b", "c"], axis=2)
    check([split], {"x": x}, {"n": np.array([1, 33, 6])}, cpu, dims and {"x": ["a", "b", 40]}, outputs=("a", "b", "c"))


@pytest.mark.parametrize("cpu", CPUS)
def test_pad_expand_tile_gather_blocks(cpu):
    x = values((2, 4, 6, 18))
    named = {"x": ["n", 4, "h", "w"]}
    for pads in [(0, 0, 1, 1, 0, 0, 1, 1), (1, 0, 0, 3, 0, 2, 17, 0), (0, 0, -1, 2, 0, 0, 1, -3)]:
        node = helper.make_node("Pad", ["x", "p", "v"], ["y"])
        constants = {"p": np.array(pads), "v": np.float32(2.5)}
        check([node], {"x": x}, constants, cpu)
        if min(pads) >= 0:
            check([node], {"x": x}, constants, cpu, named)
    check([helper.make_node("Tile", ["x", "r"], ["y"])], {"x": x}, {"r": np.array([2, 1, 3, 2])}, cpu, named)
    narrow = values((4, 1, 18))
    check([helper.make_node("Expand", ["x", "s"], ["y"])], {"x": narrow}, {"s": np.array([3, 4, 7, 18])}, cpu)
    check([helper.make_node("Expand", ["x", "s"], ["y"])], {"x": values((4, 7, 1))}, {"s": np.array([2, 4, 7, 33])}, cpu)
    for index, axis in [(np.array(-1), 1), (np.array([[2]]), 1), (np.array(0), 1)]:
        check([helper.make_node("Gather", ["x", "i"], ["y"], axis=axis)], {"x": x}, {"i": index}, cpu, named)
    for mode in ("DCR", "CRD"):
        check([helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode)], {"x": x}, {}, cpu, named)
    check([helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=2)], {"x": x}, {}, cpu)


# Rows of every width and type by indices of a run, negative ones too; what follows is computed on the way.
@pytest.mark.parametrize("cpu", ["x86-64-v2", "native"])
@pytest.mark.parametrize(
    ("data", "axis", "indices"),
    [
        ((9, 40), 0, (3, 5)),
        ((9, 1), 0, (70,)),
        ((9,), 0, (4, 3)),
        ((3, 9, 5), 1, (7,)),
        ((2, 3, 9), 2, (2, 2)),
        ((2, 3, 9), -1, ()),
        ((4, 5000), 0, (3,)),
        ((4, 3, 2, 17), 1, (2, 3)),
        ((4, 0), 0, (2,)),
        ((4, 3), 0, (0, 2)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float16", "int64", "bool"])
def test_gather_at_run_time(cpu, data, axis, indices, dtype):
    rng = np.random.default_rng(3)
    x = values(data, dtype)
    bound = data[axis]
    named = {"x": [f"d{k}" for k in range(len(data))], "i": [f"e{k}" for k in range(len(indices))]}
    for kind, dims in ((np.int32, None), (np.int64, named)):
        feeds = {"x": x, "i": rng.integers(-bound, bound, indices).astype(kind)}
        check([helper.make_node("Gather", ["x", "i"], ["y"], axis=axis)], feeds, {}, cpu, dims)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("extra", [(2, 3, 4, 20), (20,), (4, 1), (3, 1, 1), (2, 1, 1, 20), (1, 1, 4, 20), (1,)])
def test_epilogue_of_gather(cpu, extra):
    rng = np.random.default_rng(4)
    feeds = {"x": values((2, 9, 20)), "e": values(extra, seed=2), "i": rng.integers(-9, 9, (3, 4))}
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["t"], axis=1),
        helper.make_node("Mul", ["t", "e"], ["u"]),
        helper.make_node("Neg", ["u"], ["y"]),
    ]
    check(nodes, feeds, {}, cpu)
    check(nodes, feeds, {}, cpu, {"x": ["a", 9, 20], "i": [3, 4]})


@pytest.mark.parametrize("index", [9, -10, 2**62, -(2**63)])
def test_index_outside(index):
    x = values((9, 40))
    indices = np.array([[0, 1], [index, 10]])
    proto = model_of([helper.make_node("Gather", ["x", "i"], ["y"], name="take")], {"x": x, "i": indices}, {}, ["y"])
    for threads in (1, 3):
        with pytest.raises(mopt.MoptError, match=f"take.*{index}.*9"):
            mopt.compile(proto, threads=threads).run({"x": x, "i": indices})


# A start past the end, an axis of no elements: sizes that the run alone knows must not lead outside.
@pytest.mark.parametrize("n", [0, 1, 2, 3, 40])
def test_short_axes(n):
    x = values((n, 3))
    constants = {"s": np.array([-3]), "e": np.array([2**60]), "a": np.array([0])}
    check([helper.make_node("Slice", ["x", "s", "e", "a"], ["y"])], {"x": x}, constants, "native", {"x": ["n", 3]})
    constants["s"] = np.array([2])
    check([helper.make_node("Slice", ["x", "s", "e", "a"], ["y"])], {"x": x}, constants, "native", {"x": ["n", 3]})


def window_nodes(kind, attributes, channels_last, channels):
    """A pool, or a pool between pointwise convolutions, which lie channels last."""
    pool = lambda a, b: helper.make_node(kind, [a], [b], **attributes)
    if not channels_last:
        return [pool("x", "y")], {}
    weights = {f"w{i}": values((channels, channels, 1, 1), seed=i) for i in (7, 8)}
    nodes = [helper.make_node("Conv", ["x", "w7"], ["a"]), pool("a", "b"), helper.make_node("Conv", ["b", "w8"], ["y"])]
    return nodes, weights


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 2], "strides": [3, 1], "pads": [0, 1, 2, 0], "ceil_mode": 1},
        {"kernel_shape": [5, 3], "strides": [1, 2], "dilations": [2, 1], "pads": [2, 1, 4, 1]},
        {"kernel_shape": [4, 3], "strides": [2, 3], "auto_pad": "SAME_LOWER"},
        {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_pools(cpu, channels_last, attributes):
    for kind in ("MaxPool", "AveragePool"):
        for include in (0, 1) if kind == "AveragePool" else (0,):
            given = dict(attributes, **({"count_include_pad": include} if include else {}))
            channels = 21 if channels_last else 3
            nodes, weights = window_nodes(kind, given, channels_last, channels)
            x = values((3, channels, 19, 45))
            tolerance = 2e-5 * channels if channels_last else 1e-6
            model = check(nodes, {"x": x}, weights, cpu, {"x": ["n", channels, 19, 45]}, tolerance)
            batch = model.run({"x": x})["y"]
            alone = np.concatenate([model.run({"x": x[i : i + 1]})["y"] for i in range(3)])
            assert alone.tobytes() == batch.tobytes(), "an image alone has other bits than in a batch"


@pytest.mark.parametrize("cpu", CPUS)
def test_pools_of_other_ranks(cpu):
    for shape in [(2, 3, 50), (2, 3, 7, 9, 20)]:
        axes = len(shape) - 2
        nodes, _ = window_nodes(
            "MaxPool", {"kernel_shape": [3] * axes, "strides": [2] * axes, "pads": [1] * 2 * axes}, False, 3
        )
        check(nodes, {"x": values(shape)}, {}, cpu, {"x": ["n", 3, *[f"s{i}" for i in range(axes)]]})


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
def test_resize(cpu, channels_last, mode, coordinates):
    channels = 21 if channels_last else 3
    x = values((2, channels, 7, 21))
    for factors in [(2.0, 2.0), (4.0, 3.0), (1.7, 0.6), (1.0, 2.5)]:
        # Of a fractional length onnxruntime takes the whole part here; ONNX's text does not.
        if coordinates == "align_corners" and any(size * factor % 1 for size, factor in zip((7, 21), factors)):
            continue
        attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": "floor"}
        resize = lambda a, b, attributes=attributes: helper.make_node("Resize", [a, "", "scales"], [b], **attributes)
        constants = {"scales": np.array([1, 1, *factors], np.float32)}
        nodes = [resize("x", "y")]
        if channels_last:
            constants |= {f"w{i}": values((channels, channels, 1, 1), seed=i) for i in (7, 8)}
            nodes = [
                helper.make_node("Conv", ["x", "w7"], ["a"]),
                resize("a", "b"),
                helper.make_node("Conv", ["b", "w8"], ["y"]),
            ]
        model = check(nodes, {"x": x}, constants, cpu, {"x": ["n", channels, 7, 21]}, 3e-5 * channels)
        batch = model.run({"x": x})["y"]
        alone = np.concatenate([model.run({"x": x[i : i + 1]})["y"] for i in range(2)])
        assert alone.tobytes() == batch.tobytes(), "an image alone has other bits than in a batch"


# An infinity next to a sample point does not count: its weight is 0.
def test_resize_passes_over_what_has_no_weight():
    x = np.array([[[[1, np.inf, 2, 3]]]], np.float32).repeat(16, axis=3)
    constants = {"sizes": np.array([1, 1, 1, 64])}
    attributes = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    y = mopt.compile(model_of([node], {"x": x}, constants, ["y"])).run({"x": x})["y"]
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("kernel", "inner", "outer"), [((2, 2), 24, 24), ((2, 2), 24, 1), ((3, 1), 5, 33)])
def test_conv_transpose(cpu, kernel, inner, outer):
    x = values((2, inner, 9, 13))
    constants = {
        "w": values((inner, inner, 3, 3), seed=1) * np.float32(0.1),
        "u": values((inner, outer, *kernel), seed=2),
        "b": values((outer,), seed=3),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("ConvTranspose", ["a", "u", "b"], ["c"], strides=kernel),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    check(nodes, {"x": x}, constants, cpu, {"x": ["n", inner, "h", "w"]}, 1e-4)
