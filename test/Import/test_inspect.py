"""`mopt inspect` of models and modules: text, JSON, checks."""

import json

import numpy as np
import onnx
import pytest
from conftest import model, mopt, refused, value
from onnx import helper, numpy_helper


@pytest.fixture
def source(tmp_path):
    w = numpy_helper.from_array(np.arange(600, dtype=np.float32).reshape(2, 300), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    made = model(nodes, [value("x", ["n", 2])], [value("y", ["n", 300])], [w], domains=[("ai.onnx.ml", 3)], opset=17)
    made.producer_name = 'a "tool"'
    onnx.save(made, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def inspected(*args):
    status, out, err = mopt("inspect", *args)
    assert status == 0, err
    return out


def test_json(source):
    facts = json.loads(inspected(source, "--json"))
    assert len(facts.pop("model_hash")) == len("blake3:") + 64
    assert facts == {
        "format": 1,
        "phase": "imported",
        "onnx": {"graph": "g", "ir_version": 10, "opsets": {"ai.onnx": 17, "ai.onnx.ml": 3}, "producer": 'a "tool"'},
        "inputs": [{"name": "x", "dtype": "float32", "shape": "[n,2]"}],
        "outputs": [{"name": "y", "dtype": "float32", "shape": "[n,300]"}],
        "symbols": ["n"],
        "run_time_sizes": [],
        "ops": {"matmul": 1, "relu": 2},
        "parameters": 600,
        "weights_bytes": 2400,
    }


def test_text(source):
    lines = inspected(source).splitlines()
    for line in ("input   x: float32[n,2]", "parameters  600 in 2400 bytes", "       2  relu", "symbols     n"):
        assert line in lines


def test_shapes_are_bound(source):
    assert json.loads(inspected(source, "--json", "--shape", "x=5x2"))["inputs"][0]["shape"] == "[5,2]"


@pytest.mark.parametrize(
    ("phase", "shown"),
    # Up to `fused` a module looks like an imported one.
    [("normalized", "imported"), ("grouped", "grouped"), ("kernels", "kernels"), ("buffers", "buffers")],
)
def test_modules_of_every_phase(phase, shown, tmp_path):
    w = numpy_helper.from_array(np.ones((2, 320), np.float32), "w")
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", ["n", 2])], [value("y", ["n", 320])], [w])
    onnx.save(made, tmp_path / "m.onnx")
    status, _, err = mopt("compile", tmp_path / "m.onnx", "--to", phase, "-o", tmp_path / "m.mlir")
    assert status == 0, err
    facts = json.loads(inspected(tmp_path / "m.mlir", "--json", "--verify"))
    assert facts["phase"] == shown
    assert facts["verified"] is True
    assert facts["weights_bytes"] == 2560
    assert facts["inputs"] == [{"name": "x", "dtype": "float32", "shape": "[n,2]"}]
    assert facts["outputs"] == [{"name": "y", "dtype": "float32", "shape": "[n,320]"}]


def test_verify(source):
    assert "checks      ok: structure, operators, types and sizes; all weights can be read" in inspected(source, "--verify")
    assert json.loads(inspected(source, "--verify", "--json"))["verified"] is True
    data = source.read_bytes()
    source.write_bytes(data[:-20])
    refused(("I002", "I011", "I013"), "inspect", source, "--verify")


def test_options_of_artifacts(source):
    for words in (["--manifest"], ["--sessions", "2"]):
        line = refused("T008", "inspect", source, *words)
        assert "run `mopt compile` first" in line
