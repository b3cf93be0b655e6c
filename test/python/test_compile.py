"""The compiler half of the module, and mopt behind onnx's backend interface."""

import json

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


@pytest.mark.parametrize(
    ("target", "code"), [({"triple": "aarch64-linux-gnu"}, "MOPT-R016"), ({"cpu": "sapphirerapids"}, "MOPT-R017")]
)
def test_model_for_another_machine_is_described_and_saved(target, code, tmp_path):
    model = mopt.compile(add_model(), **target)
    if model.runs_here:
        pytest.skip("this is such a machine")
    (x,), (y,) = model.inputs, model.outputs
    assert (x.name, x.dtype, x.shape) == ("x", "float32", ("n", 3))
    assert (y.name, y.dtype, y.shape) == ("y", "float32", ("n", 3))
    needed = json.loads(model.manifest)["target"]
    assert needed["triple"].startswith("aarch64") if "triple" in target else needed["cpu"] == "x86-64-v4"
    with pytest.raises(mopt.MoptError, match=r"save\(path\)") as error:
        model.run({"x": np.zeros((1, 3), np.float32)})
    assert error.value.code == code
    model.save(tmp_path / "model.so")
    with pytest.raises(mopt.MoptError) as error:
        mopt.load(tmp_path / "model.so")
    assert error.value.code == code


def test_model_of_this_machine_says_so():
    assert mopt.compile(add_model()).runs_here


def test_leaves_no_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    model = mopt.compile(add_model())
    assert list(tmp_path.iterdir()) == []
    model.save(tmp_path / "model.so")
    assert [path.name for path in tmp_path.iterdir()] == ["model.so"]
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    with pytest.raises(mopt.MoptError, match="MOPT-I027: cannot make a temporary file: No such file"):
        mopt.compile(add_model())


MODULE = """
func.func @main(%x: tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "x"})
    -> (tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "y"}) {
  %y = mopt.neg %x : (tensor<?x3xf32, #mopt.dims<[n, 3]>>) -> tensor<?x3xf32, #mopt.dims<[n, 3]>>
  return %y : tensor<?x3xf32, #mopt.dims<[n, 3]>>
}
"""


@pytest.mark.parametrize("name", ["module.mlir", "module"])
def test_takes_modules_with_shapes(name, tmp_path):
    (tmp_path / name).write_text(MODULE)
    assert mopt.compile(tmp_path / name).inputs[0].shape == ("n", 3)
    assert mopt.compile(tmp_path / name, shapes={"x": [4, None]}).inputs[0].shape == (4, 3)
    with pytest.raises(mopt.MoptError, match="MOPT-C014"):
        mopt.compile(tmp_path / name, shapes={"z": [4]})


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
