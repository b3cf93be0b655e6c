"""The compiler half of the module, and mopt behind onnx's backend interface."""

import mopt
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

pytestmark = pytest.mark.skipif(not hasattr(mopt._core, "compile_bytes"), reason="the module was built without the compiler")


def add_model(dims=("n", 3)):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(dims))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, list(dims))
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"], name="twice")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("form", ["path", "bytes", "proto"])
def test_compiles_every_form(form, tmp_path):
    proto = add_model()
    onnx.save(proto, tmp_path / "model.onnx")
    model = mopt.compile({"path": tmp_path / "model.onnx", "bytes": proto.SerializeToString(), "proto": proto}[form])
    assert model.inputs[0].shape == ("n", 3)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(model.run({"x": x})["y"], x + x)


def test_takes_shapes():
    model = mopt.compile(add_model(), shapes={"x": [4, None]})
    assert model.inputs[0].shape == (4, 3)
    with pytest.raises(mopt.MoptError, match="MOPT-R033"):
        model.run({"x": np.zeros((2, 3), np.float32)})


def test_equal_sizes_are_checked_by_name(resnet):
    model = mopt.compile(resnet)
    assert model.run({"x": np.zeros((2, 1, 28, 28), np.float32)})["logits"].shape == (2, 10)


def test_saved_and_loaded_is_the_same(resnet, tmp_path):
    x = np.random.default_rng(1).random((3, 1, 28, 28), np.float32)
    model = mopt.compile(resnet)
    model.save(tmp_path / "resnet.so")
    again = mopt.load(tmp_path / "resnet.so", threads=2)
    assert model.run({"x": x})["logits"].tobytes() == again.run({"x": x})["logits"].tobytes()


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (b"", "MOPT-I0"),
        (b"not a model", "MOPT-I0"),
        (add_model().SerializeToString()[:-5], "MOPT-I0"),
        ("/nonexistent/model.onnx", "MOPT-I005"),
    ],
)
def test_refuses_bad_models(model, code):
    with pytest.raises(mopt.MoptError) as error:
        mopt.compile(model)
    assert error.value.code.startswith(code)
    assert "\n" not in str(error.value)


def test_names_the_node_it_refuses():
    proto = add_model()
    proto.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(mopt.MoptError) as error:
        mopt.compile(proto)
    assert error.value.code == "MOPT-I008"
    assert "NoSuchOperator" in str(error.value)


def test_refuses_unknown_targets():
    with pytest.raises(mopt.MoptError, match="MOPT-C012"):
        mopt.compile(add_model(), cpu="abacus")


def test_onnx_backend():
    from mopt import onnx_backend

    x = np.float32([[1, 2, 3]])
    rep = onnx_backend.prepare(add_model())
    np.testing.assert_array_equal(rep.run([x])[0], x + x)
    np.testing.assert_array_equal(rep.run({"x": x}).y, x + x)
    np.testing.assert_array_equal(onnx_backend.run_model(add_model(), [x]).y, x + x)
    node = helper.make_node("Mul", ["a", "b"], ["c"])
    np.testing.assert_array_equal(onnx_backend.run_node(node, [x, x])[0], x * x)
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("CUDA")
