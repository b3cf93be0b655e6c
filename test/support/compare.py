"""Whether two arrays mean the same: element type and shape exactly, NaN equal to NaN, numbers within a tolerance."""

from __future__ import annotations

import numpy as np
from drivers import carry


def difference(expected: np.ndarray, actual: np.ndarray, rtol: float, atol: float) -> str:
    """Empty when they agree, else what is wrong in one line."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    if actual.dtype != expected.dtype:
        # Types that numpy lacks travel as integers, so that those compare by their bits.
        if actual.dtype != carry(expected).dtype:
            return f"element type {actual.dtype}, expected {expected.dtype}"
        actual = actual.view(expected.dtype)
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    if not expected.size:
        return ""
    if expected.dtype.kind in "OSU":
        wrong = expected != actual
        a, e = expected, actual
    elif expected.dtype.kind in "biu" and not atol and not rtol:
        a, e = actual, expected
        wrong = a != e
    else:
        kind = np.complex128 if expected.dtype.kind == "c" else np.float64
        a, e = actual.astype(kind), expected.astype(kind)
        wrong = ~np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return ""
    with np.errstate(all="ignore"):
        distance = (
            np.where(wrong, np.abs(a.astype(np.float64) - e.astype(np.float64)), -1) if a.dtype.kind in "fiub" else wrong
        )
    worst = np.unravel_index(int(np.argmax(np.nan_to_num(distance, nan=np.inf, posinf=np.inf))), expected.shape)
    return (
        f"{int(wrong.sum())} of {expected.size} elements differ, the worst at {[int(i) for i in worst]}: "
        f"{a[worst]!s}, expected {e[worst]!s} (rtol {rtol:g}, atol {atol:g})"
    )


def magnitude(array: np.ndarray) -> float:
    """Largest finite absolute value, the measure that absolute tolerances of outputs refer to."""
    if array.dtype.kind not in "fiub" or not array.size:
        return 0.0
    finite = np.abs(array.astype(np.float64))[np.isfinite(array.astype(np.float64))]
    return float(finite.max()) if finite.size else 0.0
