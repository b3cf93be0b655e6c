"""Generators of random nodes that move elements, one per operator, as in graph_operators.py."""

from __future__ import annotations

import numpy as np
from graph_values import F32, I32, I64, axis_of, dims, ints, random, registry, shape, tensor

OPERATORS, operator = registry()


@operator("Identity")
def identity(g, name):
    g.add(name, [tensor(g)], {})


@operator("Reshape")
def reshape(g, name):
    x = tensor(g)
    n = int(np.prod(dims(g, x)))
    out = []
    while n > 1 and len(out) < 3:
        d = int(g.rng.choice([v for v in range(1, n + 1) if n % v == 0]))
        out.append(d)
        n //= d
    out.append(n)
    if g.rng.random() < 0.5:
        out[int(g.rng.integers(len(out)))] = -1
    g.add(name, [x, ints(g, out)], {})


@operator("Flatten")
def flatten(g, name):
    x = tensor(g, 1)
    g.add(name, [x], {"axis": int(g.rng.integers(-len(dims(g, x)), len(dims(g, x)) + 1))})


@operator("Squeeze", "Unsqueeze")
def squeeze(g, name):
    s = list(shape(g, 1, 3))
    axes = sorted({int(v) for v in g.rng.integers(0, len(s) + 1, g.rng.integers(1, 3))})
    if name == "Squeeze":
        axes = [a for a in axes if a < len(s)] or [0]
        for a in axes:
            s[a] = 1
        g.add(name, [tensor(g, dims=tuple(s))] + ([ints(g, axes)] if g.rng.random() < 0.7 else []), {})
    else:
        g.add(
            name,
            [tensor(g, dims=tuple(s)), ints(g, [a - (len(s) + len(axes)) if g.rng.random() < 0.3 else a for a in axes])],
            {},
        )


@operator("Transpose")
def transpose(g, name):
    x = tensor(g, 1)
    g.add(name, [x], {"perm": [int(v) for v in g.rng.permutation(len(dims(g, x)))]} if g.rng.random() < 0.8 else {})


@operator("Concat")
def concat(g, name):
    x = tensor(g, 1)
    s = list(dims(g, x))
    axis = axis_of(g, len(s))
    names = [x]
    for _ in range(int(g.rng.integers(0, 3))):
        s[axis] = int(g.rng.integers(1, 4))
        names.append(tensor(g, dims=tuple(s)))
    g.add(name, names, {"axis": axis})


@operator("Split")
def split(g, name):
    s = list(shape(g, 1))
    axis = int(g.rng.integers(len(s)))
    parts = [int(v) for v in g.rng.integers(0, 4, g.rng.integers(1, 4))]
    s[axis] = max(sum(parts), 1)
    parts[0] += s[axis] - sum(parts)
    if g.rng.random() < 0.5:
        g.add(name, [tensor(g, dims=tuple(s)), ints(g, parts)], {"axis": axis}, len(parts))
    else:
        n = int(g.rng.integers(1, s[axis] + 1))
        if -(-s[axis] // n) * (n - 1) < s[axis]:
            g.add(name, [tensor(g, dims=tuple(s))], {"axis": axis, "num_outputs": n}, n)


@operator("Slice")
def slice_(g, name):
    x = tensor(g, 1)
    s = dims(g, x)
    axes = [int(v) for v in g.rng.permutation(len(s))[: g.rng.integers(1, len(s) + 1)]]
    dtype = [I64, I32][g.rng.integers(0, 2)]
    steps = [int(g.rng.choice([1, 1, 2, -1, -2])) for _ in axes]
    starts = [int(g.rng.integers(-s[a] - 2, s[a] + 3)) for a in axes]
    # A bound far outside in the direction of the step; onnxruntime reads others in ways of its own.
    ends = [
        int(g.rng.choice([g.rng.integers(-s[a] - 2, s[a] + 3), 2**31 - 1 if p > 0 else -(2**31)]))
        for a, p in zip(axes, steps, strict=True)
    ]
    g.add(name, [x, ints(g, starts, dtype), ints(g, ends, dtype), ints(g, axes, dtype), ints(g, steps, dtype)], {})


@operator("Pad")
def pad(g, name):
    x = tensor(g, 1, fits=lambda s: min(s) > 1)
    s = dims(g, x)
    mode = str(g.rng.choice(["constant", "reflect", "edge", "wrap"]))
    cuts = g.rng.random() < 0.3
    pads = [int(g.rng.integers(-n - 1 if cuts else 0, max(1, min(3, n)))) for n in s + s]
    g.add(
        name,
        [x, ints(g, pads)] + ([g.new(np.float32(2.5))] if mode == "constant" and g.rng.random() < 0.5 else []),
        {"mode": mode},
    )


@operator("Expand", "Tile")
def repeat(g, name):
    x = tensor(g, 1, 3)
    s = dims(g, x)
    if name == "Tile":
        g.add(name, [x, ints(g, [int(v) for v in g.rng.integers(0 if g.rng.random() < 0.1 else 1, 4, len(s))])], {})
    else:
        g.add(
            name,
            [
                x,
                ints(
                    g,
                    [int(v) for v in (2, 1)[: g.rng.integers(0, 2)]]
                    + [n if n > 1 else int(g.rng.integers(1, 4)) for n in s],
                ),
            ],
            {},
        )


@operator("Gather", "GatherElements")
def gather(g, name):
    x = tensor(g, 1)
    s = dims(g, x)
    axis = axis_of(g, len(s))
    n = s[axis]
    where = shape(g, 0, 2) if name == "Gather" else tuple(int(g.rng.integers(1, v + 1)) for v in s)
    g.add(name, [x, g.new(g.rng.integers(-n, n, where).astype([I64, I32][g.rng.integers(0, 2)]))], {"axis": axis})


@operator("GatherND")
def gather_nd(g, name):
    x = tensor(g, 1)
    s = dims(g, x)
    k = int(g.rng.integers(1, len(s) + 1))
    index = np.stack([g.rng.integers(-n, n, (3,)) for n in s[:k]], -1).astype(I64)
    g.add(name, [x, g.new(index)], {})


@operator("ScatterElements", "ScatterND")
def scatter(g, name):
    x = tensor(g, 1)
    s = dims(g, x)
    reduction = str(g.rng.choice(["none", "add", "mul", "max", "min"]))
    if name == "ScatterND":
        index = np.unravel_index(g.rng.permutation(s[0])[: g.rng.integers(1, s[0] + 1)], s[:1])[0].reshape(-1, 1).astype(I64)
        g.add(name, [x, g.new(index), g.new(random(g, (len(index), *s[1:])))], {"reduction": reduction})
    else:
        axis = int(g.rng.integers(len(s)))
        where = tuple(int(g.rng.integers(1, v + 1)) for v in s)
        index = np.argsort(g.rng.random(where[:axis] + (s[axis],) + where[axis + 1 :]), axis).take(range(where[axis]), axis)
        g.add(name, [x, g.new(index.astype(I64)), g.new(random(g, where))], {"axis": axis, "reduction": reduction})


@operator("Shape", "Size")
def sizes(g, name):
    x = tensor(g, 1)
    g.add(name, [x], {"start": axis_of(g, len(dims(g, x)))} if name == "Shape" and g.rng.random() < 0.5 else {})


@operator("Range")
def range_(g, name):
    dtype = [F32, I64, I32][g.rng.integers(0, 3)]
    g.add(name, [ints(g, v, dtype) for v in (g.rng.integers(-5, 5), g.rng.integers(-5, 9), g.rng.choice([1, 2, -1]))], {})


@operator("OneHot")
def one_hot(g, name):
    x = shape(g, 1, 3)
    g.add(name, [g.new(random(g, x, I64)), ints(g, 5), g.new(np.array([0.5, 3], F32))], {"axis": axis_of(g, len(x) + 1)})


@operator("Trilu")
def trilu(g, name):
    k = [ints(g, int(g.rng.integers(-3, 4)))] if g.rng.random() < 0.6 else []
    g.add(name, [tensor(g, 2), *k], {"upper": int(g.rng.integers(2))})


@operator("EyeLike")
def eye_like(g, name):
    g.add(name, [tensor(g, 2, 2)], {"k": int(g.rng.integers(-2, 3))})


@operator("DepthToSpace", "SpaceToDepth")
def depth(g, name):
    if name == "DepthToSpace":
        g.add(name, [tensor(g, dims=(1, 8, 2, 3))], {"blocksize": 2, "mode": str(g.rng.choice(["DCR", "CRD"]))})
    else:
        g.add(name, [tensor(g, dims=(2, 3, 4, 6))], {"blocksize": 2})


@operator("ReverseSequence")
def reverse(g, name):
    batch = int(g.rng.integers(2))
    s = (4, 5, 2)
    g.add(name, [tensor(g, dims=s), g.new(g.rng.integers(0, s[1 - batch] + 1, s[batch]).astype(I64))],
          {"batch_axis": batch, "time_axis": 1 - batch})  # fmt: skip


@operator("Resize")
def resize(g, name):
    s = (1, 2, *(int(v) for v in g.rng.integers(2, 6, 2)))
    mode = str(g.rng.choice(["nearest", "linear", "cubic"]))
    a = {"mode": mode, "coordinate_transformation_mode": str(g.rng.choice(
        ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]))}  # fmt: skip
    if mode == "nearest":
        a["nearest_mode"] = str(g.rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    factors = [float(v) for v in g.rng.choice([0.5, 0.8, 1, 1.5, 2, 3], 2)]
    if g.rng.random() < 0.5:
        g.add(name, [tensor(g, dims=s), "", g.new(np.array([1, 1, *factors], F32), True)], a)
    else:
        g.add(
            name,
            [tensor(g, dims=s), "", "", ints(g, [1, 2, *(max(1, int(f * n)) for f, n in zip(factors, s[2:], strict=True))])],
            a,
        )
