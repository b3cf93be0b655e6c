"""What the import tests share: the compiler as a command, models built by hand, and onnxruntime as the judge."""

import os
import pathlib
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]


def compiler():
    path = os.environ.get("MOPT_COMPILER") or str(ROOT / "build" / "bin" / "mopt-compiler")
    if not os.path.exists(path):
        pytest.skip(f"no compiler at {path}; set MOPT_COMPILER")
    return path


def mopt(*args, cwd=None):
    """Runs the compiler; returns (status, stdout, stderr). A crash fails the test at once."""
    done = subprocess.run(
        [compiler(), *map(str, args)], capture_output=True, text=True, errors="replace", cwd=cwd, timeout=120
    )
    assert done.returncode >= 0, f"crashed with signal {-done.returncode}: {done.stderr}"
    return done.returncode, done.stdout, done.stderr


def refused(code, *args, cwd=None, output=None):
    """The command ends with status 2, one error line with `code`, and no output file. Returns the line."""
    status, _, err = mopt(*args, cwd=cwd)
    errors = [line for line in err.splitlines() if line.startswith("error ")]
    assert status == 2, (status, err)
    assert len(errors) == 1, err
    codes = [code] if isinstance(code, str) else code
    assert any(errors[0].startswith(f"error MOPT-{c}:") for c in codes), err
    assert len(errors[0]) < 4000
    if output is not None:
        assert not os.path.exists(output)
    return errors[0]


def measured(*args):
    """Status, seconds and peak memory in MiB of one run."""
    read, write = os.pipe()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(compiler(), [compiler(), *map(str, args)])
    os.close(write)
    os.close(read)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - start, usage.ru_maxrss / 1024


def model(nodes, inputs, outputs, initializers=(), opset=21, ir=None, functions=(), value_info=(), domains=(), **kwargs):
    graph = helper.make_graph(
        list(nodes), "g", list(inputs), list(outputs), list(initializers), value_info=list(value_info), **kwargs
    )
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in domains]
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions))
    made.ir_version = ir or min(10, made.ir_version)
    return made


def value(name, shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def session(source):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    if not isinstance(source, (str, bytes)):
        source = str(source) if isinstance(source, pathlib.Path) else source.SerializeToString()
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def same(a, b, rtol=1e-5, atol=1e-6):
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert x.dtype == y.dtype and x.shape == y.shape, (x.dtype, x.shape, y.dtype, y.shape)
        if x.dtype.kind in "fc":
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
        else:
            np.testing.assert_array_equal(x, y)


def round_trip(source, tmp_path, through_text=True, extra=()):
    """Imports, writes, reads and exports; returns the path of the exported model after onnx's full check."""
    text, out = tmp_path / "m.mlir", tmp_path / "out.onnx"
    if through_text:
        status, _, err = mopt("import", source, "-o", text, *extra)
        assert status == 0, err
        status, _, err = mopt("export", text, "-o", out)
    else:
        status, _, err = mopt("export", source, "-o", out, *extra)
    assert status == 0, err
    onnx.checker.check_model(str(out), full_check=True)
    return out
