"""Values and shapes that random nodes are made of, and the table of those who make the nodes."""

from __future__ import annotations

import numpy as np

F32, I64, I32, BOOL = np.dtype("float32"), np.dtype("int64"), np.dtype("int32"), np.dtype("bool")


def registry():
    """A table {operator: generator}, and the decorator that enters one function for several operators."""
    table = {}

    def operator(*names):
        def register(function):
            for name in names:
                table[name] = lambda graph, name=name: function(graph, name)
            return function

        return register

    return table, operator


def shape(g, low=1, high=4, size=5):
    return tuple(int(n) for n in g.rng.integers(1, size + 1, g.rng.integers(low, high + 1)))


def random(g, dims, dtype=F32):
    if dtype.kind == "f":
        return (g.rng.standard_normal(dims) * 2).astype(dtype)
    if dtype.kind == "b":
        return g.rng.random(dims) < 0.5
    return g.rng.integers(-8 if dtype.kind == "i" else 0, 9, dims).astype(dtype)


def tensor(g, low=0, high=4, dtype=F32, fits=lambda s: True, dims=None, constant=None):
    if dims is not None:
        found = g.pick(dtype, (len(dims), len(dims)), lambda s: s == tuple(dims)) if constant is None else None
        return found or g.new(random(g, dims, dtype), constant)
    return g.pick(dtype, (low, high), fits) or g.new(random(g, shape(g, low, high), dtype), constant)


def ints(g, values, dtype=I64, constant=True):
    return g.new(np.asarray(values, dtype), constant)


def dims(g, name):
    return g.values[name].shape


def partner(g, dims):
    """A shape that broadcasts with `dims`."""
    out = [1 if g.rng.random() < 0.3 else n for n in dims]
    return tuple(out[int(g.rng.integers(0, len(out) + 1)) :])


def axis_of(g, rank):
    return int(g.rng.integers(-rank, rank))


def window(g, spatial, kernel=None):
    n = len(spatial)
    kernel = kernel or [int(v) for v in g.rng.integers(1, 4, n)]
    a = {"kernel_shape": kernel}
    if g.rng.random() < 0.5:
        a["strides"] = [int(v) for v in g.rng.integers(1, 4, n)]
    if g.rng.random() < 0.3:
        a["auto_pad"] = str(g.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    elif g.rng.random() < 0.6:
        a["pads"] = [int(g.rng.integers(0, k)) for k in kernel + kernel]
    if "SAME" not in a.get("auto_pad", "") and g.rng.random() < 0.3:
        a["dilations"] = [int(v) for v in g.rng.integers(1, 3, n)]
    return a


def quantized(g, dims, dtype=np.uint8):
    i = np.iinfo(dtype)
    low, high = (-64, 64) if i.min else (0, 256)
    return (g.new(g.rng.integers(low, high, dims).astype(dtype)), g.new(np.float32(g.rng.uniform(0.01, 0.1)), True),
            g.new(dtype(g.rng.integers(-5, 5) if i.min else g.rng.integers(120, 136)), True))  # fmt: skip
