"""Weights are read through maps, and pages that have been used do not stay: memory does not follow the size of a model."""

import numpy as np
import onnx
import pytest
from conftest import measured, model, mopt, value
from onnx import helper, numpy_helper

COUNT, SIDE = 24, 1024  # 24 weights of 4 MiB


def save(path, side, external):
    """x + w0 + w1 + ..."""
    weights = [numpy_helper.from_array(np.full((side, side), i, np.float32), f"w{i}") for i in range(COUNT)]
    names = ["x", *(f"s{i}" for i in range(COUNT - 1)), "y"]
    nodes = [helper.make_node("Add", [names[i], f"w{i}"], [names[i + 1]]) for i in range(COUNT)]
    made = model(nodes, [value("x", [side, side])], [value("y", [side, side])], weights)
    onnx.save(made, path, save_as_external_data=external, location="model.data", size_threshold=1024)


@pytest.fixture(scope="module", params=[False, True], ids=["inside", "beside"])
def models(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    for name, side in (("large", SIDE), ("small", 4)):
        (folder / name).mkdir()
        save(folder / name / "model.onnx", side, request.param and side > 4)
        assert mopt("import", folder / name / "model.onnx", "-o", folder / name / "module.mlir")[0] == 0
    return folder


@pytest.mark.parametrize(
    ("command", "source", "out"),
    [
        ("import", "model.onnx", "out.mlir"),
        ("export", "model.onnx", "out.onnx"),
        ("export", "module.mlir", "out.onnx"),
        ("compile", "model.onnx", "out.so"),
        ("compile", "module.mlir", "out.so"),
    ],
)
def test_peak_does_not_follow_the_weights(command, source, out, models):
    peak = {}
    for name in ("small", "large"):
        status, _, peak[name] = measured(command, models / name / source, "-o", models / name / out)
        assert status == 0
        assert (models / name / out).exists()
    weights = COUNT * SIDE * SIDE * 4 / 2**20
    # One weight at a time, and pieces of 16 MiB where the whole file is hashed.
    assert peak["large"] - peak["small"] < weights / 3, peak
    assert peak["large"] < 1.5 * weights + 200, peak
