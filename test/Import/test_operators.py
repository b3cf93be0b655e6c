"""Operators of many opsets: the exported model gives the answers of the original in onnxruntime."""

import numpy as np
import onnx
import pytest
from conftest import model, mopt, refused, round_trip, same, session, value
from onnx import TensorProto as T
from onnx import helper, numpy_helper


def node(op, inputs=("x",), outputs=("y",), **attrs):
    return helper.make_node(op, list(inputs), list(outputs), **attrs)


def init(name, data, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(data, dtype), name)


RNG = np.random.default_rng(5)
W = RNG.standard_normal((4, 3, 3, 3)).astype(np.float32)
BN = [init(n, np.abs(RNG.standard_normal(3)) + 0.5) for n in ("s", "b", "m", "v")]

# name: (opset, shape of x, nodes, initializers)
CASES = {
    "relu_7": (7, (2, 3), [node("Relu")], []),
    "softmax_7_default_axis": (7, (2, 3, 4), [node("Softmax")], []),
    "softmax_11_axis0": (11, (2, 3, 4), [node("Softmax", axis=0)], []),
    "softmax_11_last": (11, (2, 3, 4), [node("Softmax", axis=2)], []),
    "logsoftmax_9": (9, (2, 3, 4), [node("LogSoftmax", axis=1)], []),
    "softmax_13": (13, (2, 3, 4), [node("Softmax", axis=1)], []),
    "squeeze_11": (11, (1, 3, 1), [node("Squeeze", axes=[0, 2])], []),
    "squeeze_13": (13, (1, 3, 1), [node("Squeeze", ("x", "a"))], [init("a", [0], np.int64)]),
    "unsqueeze_11": (11, (3,), [node("Unsqueeze", axes=[0, 2])], []),
    "reduce_sum_11": (11, (2, 3), [node("ReduceSum", axes=[1], keepdims=0)], []),
    "reduce_sum_13": (13, (2, 3), [node("ReduceSum", ("x", "a"))], [init("a", [1], np.int64)]),
    "reduce_mean_17": (17, (2, 3), [node("ReduceMean", axes=[-1])], []),
    "reduce_mean_18": (18, (2, 3), [node("ReduceMean", ("x", "a"))], [init("a", [0], np.int64)]),
    "reduce_all_kinds_13": (
        13,
        (2, 3),
        [
            node("ReduceMax", outputs=("a",), axes=[1]),
            node("ReduceMin", outputs=("b",), axes=[1]),
            node("ReduceL2", outputs=("c",), axes=[1]),
            node("Sum", ("a", "b", "c")),
        ],
        [],
    ),
    "slice_9": (9, (4, 5), [node("Slice", starts=[1, 0], ends=[3, 4], axes=[0, 1])], []),
    "slice_11": (
        11,
        (4, 5),
        [node("Slice", ("x", "s", "e", "a", "t"))],
        [init("s", [4], np.int64), init("e", [-9], np.int64), init("a", [1], np.int64), init("t", [-2], np.int64)],
    ),
    "pad_9": (9, (2, 3), [node("Pad", pads=[0, 1, 1, 0], value=2.5)], []),
    "pad_13": (13, (2, 3), [node("Pad", ("x", "p", "v"))], [init("p", [0, 1, 1, 0], np.int64), init("v", 1.5)]),
    "clip_9": (9, (2, 3), [node("Clip", min=-0.5, max=0.5)], []),
    "clip_9_one_bound": (9, (2, 3), [node("Clip", min=0.0)], []),
    "clip_13": (13, (2, 3), [node("Clip", ("x", "", "hi"))], [init("hi", 0.25)]),
    "dropout_9": (9, (2, 3), [node("Dropout", ratio=0.5)], []),
    "dropout_13": (13, (2, 3), [node("Dropout", ("x", "r"))], [init("r", 0.3)]),
    "upsample_7": (7, (1, 1, 2, 3), [node("Upsample", scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")], []),
    "upsample_9": (9, (1, 1, 2, 3), [node("Upsample", ("x", "s"), mode="nearest")], [init("s", [1, 1, 3, 2])]),
    "resize_10": (10, (1, 1, 4, 4), [node("Resize", ("x", "s"), mode="nearest")], [init("s", [1, 1, 0.5, 2])]),
    "resize_13": (13, (1, 1, 4, 4), [node("Resize", ("x", "", "s"), mode="linear")], [init("s", [1, 1, 2, 2])]),
    "conv_7": (7, (1, 3, 8, 8), [node("Conv", ("x", "w"), pads=[1, 1, 1, 1], strides=[2, 2])], [init("w", W)]),
    "conv_same_11": (11, (1, 3, 7, 7), [node("Conv", ("x", "w"), auto_pad="SAME_UPPER", strides=[2, 2])], [init("w", W)]),
    "batchnorm_7": (7, (2, 3, 4), [node("BatchNormalization", ("x", "s", "b", "m", "v"), epsilon=1e-3)], BN),
    "batchnorm_15": (15, (2, 3, 4), [node("BatchNormalization", ("x", "s", "b", "m", "v"))], BN),
    "max_pool_indices_12": (12, (1, 1, 6, 6), [node("MaxPool", outputs=("y",), kernel_shape=[2, 2], strides=[2, 2])], []),
    "average_pool_11": (
        11,
        (1, 1, 6, 6),
        [node("AveragePool", kernel_shape=[3, 3], count_include_pad=1, pads=[1, 1, 1, 1])],
        [],
    ),
    "max_of_three_8": (8, (2, 3), [node("Max", ("x", "a", "b"))], [init("a", [[0, 1, 0]]), init("b", [[-1], [2]])]),
    "mean_13": (13, (2, 3), [node("Mean", ("x", "a"))], [init("a", [[1, 2, 3]])]),
    "sum_of_one_8": (8, (2, 3), [node("Sum", ("x",))], []),
    "split_11": (
        11,
        (2, 6),
        [node("Split", outputs=("a", "b"), axis=1, split=[2, 4]), node("Concat", ("b", "a"), axis=1)],
        [],
    ),
    "split_13": (
        13,
        (2, 6),
        [node("Split", ("x", "s"), ("a", "b"), axis=1), node("Concat", ("b", "a"), axis=1)],
        [init("s", [5, 1], np.int64)],
    ),
    "split_18_uneven": (
        18,
        (7, 2),
        [node("Split", outputs=("a", "b", "c"), num_outputs=3), node("Concat", ("c", "b", "a"), axis=0)],
        [],
    ),
    "topk_9": (9, (2, 6), [node("TopK", outputs=("y", "i"), k=3, axis=1)], []),
    "topk_11": (11, (2, 6), [node("TopK", ("x", "k"), ("y", "i"), largest=0)], [init("k", [2], np.int64)]),
    "gemm_11": (11, (2, 3), [node("Gemm", ("x", "w"), transB=1, alpha=0.5)], [init("w", RNG.standard_normal((4, 3)))]),
    "cast_9": (9, (2, 3), [node("Cast", outputs=("i",), to=T.INT32), node("Cast", ("i",), to=T.FLOAT)], []),
    "castlike_15": (
        15,
        (2, 3),
        [node("CastLike", ("x", "d"), ("c",)), node("Cast", ("c",), to=T.FLOAT)],
        [init("d", [1], np.int64)],
    ),
    "constant_of_shape_13": (
        13,
        (2, 3),
        [
            node("Shape", outputs=("s",)),
            node("ConstantOfShape", ("s",), ("c",), value=helper.make_tensor("v", T.FLOAT, [1], [2.5])),
            node("Add", ("x", "c")),
        ],
        [],
    ),
    "eyelike_13": (13, (3, 4), [node("EyeLike", outputs=("e",), k=1), node("Mul", ("x", "e"))], []),
    "scatter_9": (9, (3, 3), [node("Scatter", ("x", "i", "u"))], [init("i", [[0, 1, 2]], np.int64), init("u", [[9, 8, 7]])]),
    "gelu_20": (20, (2, 3), [node("Gelu", approximate="tanh")], []),
    "layernorm_17": (17, (2, 6), [node("LayerNormalization", ("x", "s"))], [init("s", np.arange(6))]),
    "groupnorm_18": (
        18,
        (2, 4, 3),
        [node("GroupNormalization", ("x", "s", "b"), num_groups=2)],
        [init("s", [1, 2]), init("b", [0.5, 1])],
    ),
    "groupnorm_21": (
        21,
        (2, 4, 3),
        [node("GroupNormalization", ("x", "s", "b"), num_groups=2)],
        [init("s", [1, 2, 3, 4]), init("b", [0.5, 1, 0, 0])],
    ),
    "qdq_10": (
        10,
        (2, 3),
        [node("QuantizeLinear", ("x", "s", "z"), ("q",)), node("DequantizeLinear", ("q", "s", "z"))],
        [init("s", 0.1), init("z", 3, np.int8)],
    ),
    "qdq_21_dtype": (
        21,
        (2, 3),
        [node("QuantizeLinear", ("x", "s"), ("q",), output_dtype=T.INT8), node("DequantizeLinear", ("q", "s"))],
        [init("s", 0.1)],
    ),
    "function_body_hardswish_13_ops": (14, (2, 3), [node("HardSwish")], []),
    "function_body_mvn_13": (13, (2, 3, 4, 4), [node("MeanVarianceNormalization")], []),
    "lstm_14": (
        14,
        (3, 2, 4),
        [node("LSTM", ("x", "w", "r"), ("", "y"), hidden_size=2)],
        [init("w", RNG.standard_normal((1, 8, 4))), init("r", RNG.standard_normal((1, 8, 2)))],
    ),
    "einsum_13": (
        13,
        (2, 3, 4),
        [node("Einsum", ("x", "w"), equation="bij,jk->bik")],
        [init("w", RNG.standard_normal((4, 5)))],
    ),
    "output_is_input_twice": (17, (2, 3), [node("Relu", outputs=("y",))], []),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_round_trip(name, tmp_path):
    opset, shape, nodes, inits = CASES[name]
    made = model(
        nodes,
        [value("x", shape)],
        [onnx.ValueInfoProto(name="y")],
        inits,
        opset=opset,
        ir=4 if opset < 10 else 8 if opset < 19 else 10,
    )
    made = onnx.shape_inference.infer_shapes(made)
    if not made.graph.output[0].type.HasField("tensor_type"):
        made.graph.output[0].type.tensor_type.elem_type = T.FLOAT
    onnx.save(made, tmp_path / "in.onnx")
    out = round_trip(tmp_path / "in.onnx", tmp_path)
    x = RNG.standard_normal(shape).astype(np.float32)
    same(session(made).run(None, {"x": x}), session(out).run(None, {"x": x}))
    # Reading the result again gives the same module: nothing is lost and nothing grows.
    again = tmp_path / "again.onnx"
    status, _, err = mopt("export", out, "-o", again)
    assert status == 0, err
    first, second = onnx.load(out), onnx.load(again)
    assert [n.op_type for n in first.graph.node] == [n.op_type for n in second.graph.node]


def test_local_functions(tmp_path):
    """Attribute references, defaults, a call in a call, optional inputs and equal inner names."""
    scale = helper.make_function(
        "my",
        "Scale",
        ["x"],
        ["y"],
        [
            helper.make_node("Constant", [], ["c"]),
            helper.make_node("Mul", ["x", "c"], ["t"]),
            helper.make_node("Identity", ["t"], ["y"]),
        ],
        [helper.make_opsetid("", 17)],
        ["factor"],
    )
    reference = scale.node[0].attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "value_float", "factor", onnx.AttributeProto.FLOAT
    twice = helper.make_function(
        "my",
        "Twice",
        ["x", "extra"],
        ["y"],
        [
            helper.make_node("Scale", ["x"], ["t"], domain="my", factor=2.0),
            helper.make_node("Scale", ["t"], ["u"], domain="my", factor=0.5),
            helper.make_node("Clip", ["u", "", "extra"], ["y"]),
        ],
        [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)],
    )
    made = model(
        [
            helper.make_node("Twice", ["x"], ["t"], domain="my", name="a"),
            helper.make_node("Twice", ["t", "hi"], ["y"], domain="my", name="b"),
        ],
        [value("x", ["n", 3])],
        [value("y", ["n", 3])],
        [numpy_helper.from_array(np.float32(0.5), "hi")],
        opset=17,
        ir=8,
        functions=[scale, twice],
        domains=[("my", 1)],
    )
    onnx.save(made, tmp_path / "in.onnx")
    out = round_trip(tmp_path / "in.onnx", tmp_path)
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    same(session(made).run(None, {"x": x}), session(out).run(None, {"x": x}))
    names = [n.name for n in onnx.load(out).graph.node]
    assert any(n.startswith("a/") for n in names) and any(n.startswith("b/") for n in names)


@pytest.mark.parametrize("taken", [True, False])
def test_if_with_constant_condition(taken, tmp_path):
    then = helper.make_graph([helper.make_node("Add", ["x", "k"], ["t"])], "then", [], [value("t", None)])
    other = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["e"])], "else", [], [value("e", None)])
    made = model(
        [helper.make_node("If", ["c"], ["z"], then_branch=then, else_branch=other), helper.make_node("Relu", ["z"], ["y"])],
        [value("x", [3])],
        [value("y", [3])],
        [numpy_helper.from_array(np.array(taken), "c"), numpy_helper.from_array(np.float32(3), "k")],
        opset=17,
        ir=8,
    )
    onnx.save(made, tmp_path / "in.onnx")
    out = round_trip(tmp_path / "in.onnx", tmp_path)
    x = np.array([1, -2, 3], np.float32)
    same(session(made).run(None, {"x": x}), session(out).run(None, {"x": x}))


def test_outputs_that_pass_through(tmp_path):
    made = model(
        [helper.make_node("Relu", ["x"], ["r"])],
        [value("x", ["n", 2])],
        [value("r", ["n", 2])],
        [numpy_helper.from_array(np.ones(2, np.float32), "w")],
        opset=17,
        ir=8,
    )
    made.graph.node.add(op_type="Identity", input=["x"], output=["x2"])
    made.graph.node.add(op_type="Identity", input=["w"], output=["w2"])
    for name, shape in (("x2", ["n", 2]), ("w2", [2])):
        made.graph.output.append(value(name, shape))
    onnx.save(made, tmp_path / "in.onnx")
    out = round_trip(tmp_path / "in.onnx", tmp_path)
    x = np.array([[1, -1]], np.float32)
    same(session(made).run(None, {"x": x}), session(out).run(None, {"x": x}))


def test_outputs_listed_twice(tmp_path):
    """Also inputs and initializers that are outputs themselves."""
    shapes = {"r": ["n", 2], "x": ["n", 2], "w": [2]}
    made = model(
        [helper.make_node("Relu", ["x"], ["r"])],
        [value("x", ["n", 2])],
        [value(name, shapes[name]) for name in "rxwrxw"],
        [numpy_helper.from_array(np.float32([3, 4]), "w")],
    )
    onnx.save(made, tmp_path / "in.onnx")
    out = round_trip(tmp_path / "in.onnx", tmp_path)
    x = np.array([[1, -1]], np.float32)
    results = session(out).run(None, {"x": x})
    same([np.maximum(x, 0), x, np.float32([3, 4])] * 2, results)


def test_branch_with_an_output_twice(tmp_path):
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [], [value("t", None), value("t", None)])
    made = model(
        [helper.make_node("If", ["c"], ["y", "z"], then_branch=branch, else_branch=branch)],
        [value("x", [3])],
        [value("y", [3]), value("z", [3])],
        [numpy_helper.from_array(np.array(True), "c")],
    )
    onnx.save(made, tmp_path / "in.onnx")
    out = round_trip(tmp_path / "in.onnx", tmp_path)
    x = np.array([1, -2, 3], np.float32)
    same([-x, -x], session(out).run(None, {"x": x}))


def test_shape_option(tmp_path):
    made = model(
        [helper.make_node("Add", ["x", "z"], ["y"])], [value("x", ["n", "s"]), value("z", ["s"])], [value("y", ["n", "s"])]
    )
    onnx.save(made, tmp_path / "in.onnx")
    status, _, err = mopt("import", tmp_path / "in.onnx", "-o", tmp_path / "m.mlir", "--shape", "x=2x5")
    assert status == 0, err
    assert "tensor<2x5xf32>" in (tmp_path / "m.mlir").read_text() and "tensor<5xf32>" in (tmp_path / "m.mlir").read_text()
    refused(
        "I023", "import", tmp_path / "in.onnx", "-o", tmp_path / "x.mlir", "--shape", "x=2x5x1", output=tmp_path / "x.mlir"
    )
    refused("I023", "import", tmp_path / "in.onnx", "-o", tmp_path / "x.mlir", "--shape", "q=2", output=tmp_path / "x.mlir")
    refused(
        "I023",
        "import",
        tmp_path / "in.onnx",
        "-o",
        tmp_path / "x.mlir",
        "--shape",
        "x=2x5",
        "--shape",
        "z=6",
        output=tmp_path / "x.mlir",
    )


def test_deterministic(tmp_path):
    opset, shape, nodes, inits = CASES["conv_7"]
    onnx.save(model(nodes, [value("x", shape)], [value("y", None)], inits, opset=opset, ir=4), tmp_path / "in.onnx")
    for name in ("a", "b"):
        assert mopt("export", tmp_path / "in.onnx", "-o", tmp_path / f"{name}.onnx")[0] == 0
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_channels_last_has_no_onnx_form(tmp_path):
    """Layouts are chosen below what ONNX can say: such a module is refused, not written with another meaning."""
    (tmp_path / "x.mlir").write_text("""
func.func @main(%x: tensor<1x8x8x3xf32>) -> tensor<1x1x1x3xf32> {
  %0 = mopt.global_average_pool %x {channels_last = 1 : i64} : (tensor<1x8x8x3xf32>) -> tensor<1x1x1x3xf32>
  return %0 : tensor<1x1x1x3xf32>
}""")
    line = refused("I028", "export", tmp_path / "x.mlir", "-o", tmp_path / "x.onnx", output=tmp_path / "x.onnx")
    assert "channels are the last axis" in line


def test_channels_last_is_no_attribute_of_a_file(tmp_path):
    nodes = [node("GlobalAveragePool", channels_last=1)]
    onnx.save(model(nodes, [value("x", (1, 8, 8, 3))], [value("y", None)]), tmp_path / "x.onnx")
    refused("I018", "import", tmp_path / "x.onnx", "-o", tmp_path / "x.mlir", output=tmp_path / "x.mlir")
