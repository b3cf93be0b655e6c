"""Whole models: exporting and reading back keeps their answers, names and sizes."""

import os
import pathlib

import numpy as np
import onnx
import pytest
from conftest import ROOT, mopt, round_trip, same, session

CASES = sorted(p.parent for p in (ROOT / "test" / "cases").glob("*/model.onnx"))
MODELS = sorted(pathlib.Path(os.environ.get("MOPT_MODELS", ROOT / "test" / "models")).glob("*.onnx"))
# Refusals are answers too, but listed.
REFUSED = {"if_outer_initializer": "MOPT-I021"}


def names(path):
    graph = onnx.load(path, load_external_data=False).graph
    held = {t.name for t in graph.initializer}
    return [v.name for v in graph.input if v.name not in held], [v.name for v in graph.output]


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_case(case, tmp_path):
    if case.name in REFUSED:
        status, _, err = mopt("import", case / "model.onnx", "-o", tmp_path / "m.mlir")
        assert status == 2 and REFUSED[case.name] in err
        return
    out = round_trip(case / "model.onnx", tmp_path)
    assert names(out) == names(case / "model.onnx")
    for given in sorted(case.glob("inputs*.npz")):
        data = {k: v for k, v in np.load(given).items() if k in names(out)[0]}
        try:
            original = session(case / "model.onnx").run(None, data)
        except Exception:
            pytest.skip("onnxruntime cannot run the original")
        same(original, session(out).run(None, data), rtol=1e-4, atol=1e-5)


def sample(info, sizes, rng):
    shape = [d if isinstance(d, int) and d > 0 else sizes.setdefault(d or str(len(sizes)), 32) for d in info.shape]
    if "float" in info.type:
        return rng.standard_normal(shape).astype(np.float32)
    # 0 and 1 are in every vocabulary
    return rng.integers(0, 2, shape).astype({"tensor(int32)": np.int32, "tensor(bool)": bool}.get(info.type, np.int64))


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_model(path, tmp_path):
    out = round_trip(path, tmp_path)
    assert names(out) == names(path)
    first, second = session(path), session(out)
    rng, sizes = np.random.default_rng(0), {}
    data = {i.name: sample(i, sizes, rng) for i in first.get_inputs()}
    same(first.run(None, data), second.run(None, data), rtol=1e-3, atol=1e-4)
    # The exported model is read as the same module: equal text but for where weights are.
    again = tmp_path / "again.mlir"
    status, _, err = mopt("import", out, "-o", again)
    assert status == 0, err

    def ops(text):
        return sorted(line.split("mopt.")[1].split()[0] for line in text.read_text().splitlines() if "= mopt." in line)

    assert ops(tmp_path / "m.mlir") == ops(again)


def test_two_files(tmp_path):
    """Weights past the limit of one file go to a second one, aligned, and are read back."""
    if not MODELS:
        pytest.skip("no models")
    path = min(MODELS, key=lambda p: p.stat().st_size)
    out = tmp_path / "out.onnx"
    status, _, err = mopt("export", path, "-o", out, "--single-file-bytes", "0")
    assert status == 0, err
    assert (tmp_path / "out.data").exists()
    onnx.checker.check_model(str(out), full_check=True)
    rng, sizes = np.random.default_rng(0), {}
    first = session(path)
    data = {i.name: sample(i, sizes, rng) for i in first.get_inputs()}
    same(first.run(None, data), session(out).run(None, data), rtol=1e-3, atol=1e-4)
    status, _, err = mopt("import", out, "-o", tmp_path / "m.mlir")
    assert status == 0, err
