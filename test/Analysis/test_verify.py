"""`mopt verify` on what is wrong: which pass, which ONNX node, which element."""

import os
import pathlib
import signal
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = pathlib.Path(os.environ.get("MOPT_COMPILER", ROOT / "build" / "release" / "bin" / "mopt-compiler"))
# The same commands, with passes that are wrong on purpose.
WRONG = COMPILER.with_name("mopt-compiler-with-wrong-passes")


def run(program, *args, **kwargs):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=120, **kwargs)
    assert done.returncode >= 0, f"crashed with signal {-done.returncode}: {done.stderr}"
    return done.returncode, done.stderr.splitlines()


def save(path, c, second):
    """y = second(x - c), of [2, 3]."""
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3])
    constants = [("c", np.float32(c)), ("two", np.float32([2])), ("twice", 2 * np.eye(3, dtype=np.float32))]
    nodes = [
        helper.make_node("Sub", ["x", "c"], ["difference"], name="the_difference"),
        helper.make_node(second, ["difference", "two" if second == "Mul" else "twice"], ["y"], name="doubled"),
    ]
    graph = helper.make_graph(
        nodes, "g", [value("x")], [value("y")], [numpy_helper.from_array(array, name) for name, array in constants]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


@pytest.fixture
def model(tmp_path):
    """y = (x - c) * 2, where x - c is [[-9, -18, -27], [-6, -15, -24]]."""
    np.savez(tmp_path / "in.npz", x=np.float32([[1, 2, 3], [4, 5, 6]]))
    return save(tmp_path / "model.onnx", [10, 20, 30], "Mul")


def verify(model, *args, program=WRONG):
    return run(program, "verify", model, "--inputs", model.parent / "in.npz", *args)


def test_right_passes_and_artifact(model):
    status, lines = verify(model, program=COMPILER)
    assert status == 0, lines
    assert lines[-1] == "ok    compiled model"


def test_wrong_pass_is_named_with_node_and_worst_element(model):
    passes = (
        "canonicalize,func.func(test-swap-operands{node=doubled}),func.func(test-swap-operands{node=the_difference}),cse"
    )
    status, lines = verify(model, "--passes", passes)
    assert status == 3
    # a * b is b * a: the first of the two changed the module, but not what it means
    assert "ok    --test-swap-operands" in lines
    assert lines[-2:] == [
        "error MOPT-V007: after pass --test-swap-operands: output 'y', element [0, 2]: got 54, expected -54; "
        "6 elements are out of tolerance",
        "  first node that differs: 'the_difference' (mopt.sub), element [0, 2]: got 27, expected -27; "
        "6 elements are out of tolerance",
    ]


def test_tolerance_decides(model):
    passes = "builtin.module(func.func(test-swap-operands{node=the_difference}))"
    status, lines = verify(model, "--passes", passes, "--rtol", "2")
    assert status == 0, lines


def test_what_cannot_be_evaluated_any_more_is_an_internal_fault(model):
    status, lines = verify(model, "--passes", "func.func(test-lower{node=the_difference})")
    assert status == 1
    assert lines[-1] == "error MOPT-V007: after pass --test-lower: the model cannot be evaluated"
    assert any("MOPT-V001" in line and "the_difference" in line for line in lines)


def test_failing_pass(model):
    status, lines = verify(model, "--passes", "func.func(test-fail{node=doubled})")
    assert status == 1
    assert lines[-1] == "error MOPT-V008: a pass of --passes failed"


@pytest.mark.parametrize("passes", ["no-such-pass", "cse,", "func.func(cse", "cse)"])
def test_passes_that_are_none(model, passes):
    status, lines = verify(model, "--passes", passes)
    assert status == 2
    assert len(lines) == 1 and lines[0].startswith("error MOPT-T000: --passes: "), lines


@pytest.mark.parametrize(
    ("second", "node", "got", "expected"),
    # Two elementwise nodes are one step, whose value is that of the last node; a product of matrices is a step of its own.
    [("Mul", "doubled", -40, -30), ("MatMul", "the_difference", -20, -15)],
)
def test_artifact_of_another_model_is_found(second, node, got, expected, model, tmp_path):
    """The artifact is of the same graph with another constant."""
    for name, c in (("model", [10, 20, 30]), ("other", [10, 25, 30])):
        save(tmp_path / f"{name}.onnx", c, second)
        status, lines = run(COMPILER, "compile", tmp_path / f"{name}.onnx", "-o", tmp_path / f"{name}.so", "--quiet")
        assert status == 0, lines
    status, lines = verify(model, "--artifact", tmp_path / "model.so", program=COMPILER)
    assert (status, lines) == (0, ["ok    compiled model"])
    status, lines = verify(model, "--artifact", tmp_path / "other.so", program=COMPILER)
    assert (status, lines) == (
        3,
        [
            "error MOPT-V007: the artifact: output 'y', element [1, 1]: got -40, expected -30; "
            "2 elements are out of tolerance",
            f"  first node that differs: '{node}', element [1, 1]: got {got}, expected {expected}; "
            "2 elements are out of tolerance",
        ],
    )


def test_artifact_that_is_none(model, tmp_path):
    status, lines = verify(model, "--artifact", tmp_path / "absent.so", program=COMPILER)
    assert status == 2 and lines[-1].startswith("error MOPT-R010: "), lines
    status, lines = verify(model, "--artifact", model, program=COMPILER)
    assert status == 2 and lines[-1].startswith("error MOPT-R01"), lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_leaves_nothing_behind(model, tmp_path, number):
    """Killed while it compiles: all passes are through, the artifact is not."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [COMPILER, "verify", model, "--inputs", tmp_path / "in.npz"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    for line in process.stderr:
        if "mopt-form-groups" in line:
            process.send_signal(number)
            break
    process.stderr.read()
    assert process.wait(60) in (0, -number)
    assert list(temporary.iterdir()) == []
