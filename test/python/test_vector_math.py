"""Vector functions: the errors that their comments state, over the whole range of floats, with and without fma."""

import math

import mopt
import numpy as np
import pytest
from onnx import TensorProto, helper

pytestmark = pytest.mark.skipif(not hasattr(mopt._core, "compile_bytes"), reason="the module was built without the compiler")

SMALLEST = float(np.finfo(np.float32).tiny)


def erf(x):
    return np.array([math.erf(v) if not math.isnan(v) else math.nan for v in x])


# Function of double, largest error in units of the last place, whether results below the smallest normal float may be zero.
FUNCTIONS = {
    "Exp": (np.exp, 1.2, False),
    "Log": (np.log, 1.0, False),
    "Softplus": (lambda x: np.logaddexp(0, x), 4, True),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 2.5, True),
    "Tanh": (np.tanh, 6, True),
    "Erf": (erf, 6, True),
    "Sin": (np.sin, 1.3, False),
    "Cos": (np.cos, 1.3, False),
    "Tan": (np.tan, 3, False),
    "Asin": (np.arcsin, 2.2, False),
    "Acos": (np.arccos, 1.5, False),
    "Atan": (np.arctan, 2.2, False),
    "Sqrt": (np.sqrt, 0.5, False),
    "Reciprocal": (lambda x: 1 / x, 0.5, False),
}


def samples():
    """Every exponent, both signs; dense where networks compute; the special values, and a tail that fills no vector."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 1 << 32, 60000, dtype=np.uint32).view(np.float32)
    usual = np.concatenate([rng.normal(0, s, 20000) for s in (0.3, 3, 30)] + [rng.uniform(-1, 1, 20000)]).astype(np.float32)
    special = np.array(
        [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, SMALLEST, -SMALLEST, 1e-45, 88.7, 88.8, -87.4, -103.9, 3e38, -3e38],
        np.float32,
    )
    return np.concatenate([bits, usual, special, special[:5]])


@pytest.mark.parametrize("cpu", ["x86-64-v2", "native"])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_error(op, cpu):
    function, bound, flushes = FUNCTIONS[op]
    x = samples()
    if op in ("Sin", "Cos", "Tan"):  # numpy's double is not exact itself beyond
        x = x[~(np.abs(x) > 1e6) | ~np.isfinite(x)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], name="f")], "g", [info("x", TensorProto.FLOAT, ["n"])],
                              [info("y", TensorProto.FLOAT, ["n"])])  # fmt: skip
    model = mopt.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), cpu=cpu)
    got = model.run({"x": x})["y"]
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64))
        want = exact.astype(np.float32)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    infinite = np.isinf(want)
    # The largest finite float and infinity are one unit apart.
    assert np.array_equal(np.sign(got[infinite]), np.sign(want[infinite])) and (np.abs(got[infinite]) > 3.4e38).all()
    rest = np.isfinite(exact) & ~infinite & ~np.isnan(want)
    with np.errstate(all="ignore"):
        error = np.abs(got[rest].astype(np.float64) - exact[rest]) / np.spacing(np.maximum(np.abs(want[rest]), SMALLEST))
    if flushes:
        error[(np.abs(exact[rest]) < SMALLEST) & (np.abs(got[rest]) < SMALLEST)] = 0
    worst = np.argmax(error)
    assert error[worst] <= bound + 0.5, f"{op}({x[rest][worst]!r}) is {error[worst]:.2f} units off"
    # Neither the place in the vector nor the tail matters.
    shifted = model.run({"x": x[3:]})["y"]
    assert shifted.tobytes() == got[3:].tobytes()
