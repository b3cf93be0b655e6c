"""Generators of random nodes, one per operator: OPERATORS[name](graph) adds a node that is valid, or nothing."""

from __future__ import annotations

import numpy as np

OPERATORS = {}
F32, I64, I32, BOOL = np.dtype("float32"), np.dtype("int64"), np.dtype("int32"), np.dtype("bool")


def operator(*names):
    def register(function):
        for name in names:
            OPERATORS[name] = lambda graph, name=name: function(graph, name)
        return function

    return register


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


@operator("Abs", "Neg", "Sign", "Relu")
def unary_number(g, name):
    dtype = [F32, F32, np.dtype("float64"), I32, I64, np.dtype("int8")][g.rng.integers(0, 6 if name != "Relu" else 2)]
    g.add(name, [tensor(g, dtype=dtype)], {})


@operator("Floor", "Ceil", "Round", "Exp", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Tanh", "Erf", "Sigmoid",
          "Softplus", "Softsign", "HardSwish", "Mish", "Reciprocal")  # fmt: skip
def unary_float(g, name):
    g.add(name, [tensor(g)], {})


@operator("Sqrt", "Log", "Asin", "Acos", "Acosh", "Atanh")
def unary_domain(g, name):
    low, high = {"Sqrt": (0, 9), "Log": (1e-3, 9), "Acosh": (1, 9)}.get(name, (-0.99, 0.99))
    g.add(name, [g.new(g.rng.uniform(low, high, shape(g, 0)).astype(F32))], {})


@operator("Elu", "Celu", "LeakyRelu", "ThresholdedRelu")
def alpha(g, name):
    g.add(name, [tensor(g)], {"alpha": float(g.rng.uniform(0.1, 2))} if g.rng.random() < 0.7 else {})


@operator("Selu", "HardSigmoid", "Gelu", "Shrink")
def parameters(g, name):
    u = lambda: float(g.rng.uniform(0.1, 2))
    given = {"Selu": {"alpha": u(), "gamma": u()}, "HardSigmoid": {"alpha": u(), "beta": u()},
             "Gelu": {"approximate": str(g.rng.choice(["none", "tanh"]))}, "Shrink": {"bias": u(), "lambd": u()}}[name]  # fmt: skip
    g.add(name, [tensor(g)], given if g.rng.random() < 0.8 else {})


@operator("Not")
def invert(g, name):
    g.add(name, [tensor(g, dtype=BOOL)], {})


@operator("BitwiseNot", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(g, name):
    dtype = np.dtype(str(g.rng.choice(["int8", "uint8", "int32", "int64", "uint16"])))
    x = tensor(g, dtype=dtype)
    g.add(name, [x] if name == "BitwiseNot" else [x, tensor(g, dtype=dtype, dims=partner(g, dims(g, x)))], {})


@operator("IsNaN", "IsInf")
def classify(g, name):
    x = random(g, shape(g))
    x[g.rng.random(x.shape) < 0.3] = np.nan
    x[g.rng.random(x.shape) < 0.2] = np.inf
    x[g.rng.random(x.shape) < 0.2] = -np.inf
    g.add(name, [g.new(x)], {"detect_negative": int(g.rng.integers(2))} if name == "IsInf" else {})


@operator("Cast")
def cast(g, name):
    source = np.dtype(str(g.rng.choice(["float32", "float64", "float16", "int32", "int64", "uint8", "bool"])))
    target = int(g.rng.choice([1, 2, 3, 5, 6, 7, 9, 10, 11]))
    x = np.abs(random(g, shape(g, 0), source)) if source.kind == "f" else random(g, shape(g, 0), source)
    if target == 2 and source.kind == "i":
        x = np.abs(x)
    g.add(name, [g.new(x)], {"to": target})


@operator("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean")
def binary(g, name):
    dtype = [F32, F32, I64, I32][g.rng.integers(0, 4 if name in ("Add", "Sub", "Mul", "Max", "Min") else 2)]
    x = tensor(g, dtype=dtype)
    names = [x, tensor(g, dtype=dtype, dims=partner(g, dims(g, x)))]
    if name in ("Max", "Min", "Sum", "Mean"):
        names = names[: int(g.rng.integers(1, 3))] + (
            [tensor(g, dtype=dtype, dims=partner(g, dims(g, x)))] if g.rng.random() < 0.3 else []
        )
    g.rng.shuffle(names)
    g.add(name, [str(n) for n in names], {})


@operator("Mod")
def modulo(g, name):
    dtype = [F32, I64, I32, np.dtype("int8"), np.dtype("uint8")][g.rng.integers(0, 5)]
    x = random(g, shape(g), dtype)
    y = random(g, partner(g, x.shape), dtype)
    y[y == 0] = 3
    g.add(name, [g.new(x), g.new(y)], {"fmod": 1} if dtype == F32 or g.rng.random() < 0.4 else {})


@operator("Pow")
def power(g, name):
    x = np.abs(random(g, shape(g))) + np.float32(0.1)
    kind = [F32, I64, I32][g.rng.integers(0, 3)]
    g.add(name, [g.new(x), g.new(np.clip(random(g, partner(g, x.shape), kind), -3, 3))], {})


@operator("PRelu")
def prelu(g, name):
    x = tensor(g, 1)
    g.add(name, [x, tensor(g, dims=partner(g, dims(g, x)))], {})


@operator("And", "Or", "Xor")
def logic(g, name):
    x = tensor(g, dtype=BOOL)
    g.add(name, [x, tensor(g, dtype=BOOL, dims=partner(g, dims(g, x)))], {})


@operator("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def comparison(g, name):
    dtype = [F32, I64, I32][g.rng.integers(0, 3)]
    x = tensor(g, dtype=dtype)
    g.add(name, [x, tensor(g, dtype=dtype, dims=partner(g, dims(g, x)))], {})


@operator("BitShift")
def shift(g, name):
    dtype = np.dtype(str(g.rng.choice(["uint8", "uint32", "uint64"])))
    x = g.new(random(g, shape(g), dtype))
    g.add(name, [x, g.new(g.rng.integers(0, 7, partner(g, dims(g, x))).astype(dtype))],
          {"direction": str(g.rng.choice(["LEFT", "RIGHT"]))})  # fmt: skip


@operator("Clip")
def clip(g, name):
    low = g.new(np.float32(g.rng.uniform(-3, 0))) if g.rng.random() < 0.7 else ""
    high = g.new(np.float32(g.rng.uniform(0, 3))) if g.rng.random() < 0.7 else ""
    g.add(name, [tensor(g), low, high] if high else [tensor(g), low] if low else [tensor(g)], {})


@operator("Where")
def where(g, name):
    dtype = [F32, I64, BOOL][g.rng.integers(0, 2)]
    x = tensor(g, dtype=dtype)
    s = dims(g, x)
    g.add(name, [tensor(g, dtype=BOOL, dims=partner(g, s)), x, tensor(g, dtype=dtype, dims=partner(g, s))], {})


@operator("MatMul")
def matmul(g, name):
    m, k, n = (int(v) for v in g.rng.integers(1, 7, 3))
    batch = shape(g, 0, 2, 3) if g.rng.random() < 0.7 else ()
    a, b = (*batch, m, k), (*partner(g, batch), k, n)
    if g.rng.random() < 0.15:
        a = (k,)
    elif g.rng.random() < 0.15:
        b = (k,)
    g.add(name, [tensor(g, dims=a), tensor(g, dims=b)], {})


@operator("Gemm")
def gemm(g, name):
    m, k, n = (int(v) for v in g.rng.integers(1, 9, 3))
    ta, tb = (int(v) for v in g.rng.integers(0, 2, 2))
    names = [tensor(g, dims=(k, m) if ta else (m, k)), tensor(g, dims=(n, k) if tb else (k, n))]
    if g.rng.random() < 0.7:
        names.append(tensor(g, dims=[(n,), (m, n), (m, 1), (1, n), (1,), ()][g.rng.integers(0, 6)]))
    g.add(
        name, names, {"transA": ta, "transB": tb, "alpha": float(g.rng.uniform(-1, 2)), "beta": float(g.rng.uniform(-1, 2))}
    )


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


@operator("Conv", "ConvTranspose")
def convolution(g, name):
    n = int(g.rng.integers(1, 4))
    group = int(g.rng.choice([1, 1, 2, 3]))
    c, o = group * int(g.rng.integers(1, 4)), group * int(g.rng.integers(1, 4))
    spatial = tuple(int(v) for v in g.rng.integers(4, 8, n))
    a = window(g, spatial)
    w = (o, c // group, *a["kernel_shape"]) if name == "Conv" else (c, o // group, *a["kernel_shape"])
    x = tensor(g, dims=(int(g.rng.integers(1, 3)), c, *spatial))
    if name == "ConvTranspose" and "strides" in a and g.rng.random() < 0.3 and "auto_pad" not in a:
        a["output_padding"] = [int(g.rng.integers(0, s)) for s in a["strides"]]
    g.add(name, [x, tensor(g, dims=w, constant=True)] + ([tensor(g, dims=(o,))] if g.rng.random() < 0.6 else []),
          {**a, "group": group})  # fmt: skip


# Weights of 7 bits: onnxruntime's 8-bit kernels saturate in 16 bits on CPUs without VNNI.
@operator("MatMulInteger")
def matmul_integer(g, name):
    m, k, n = (int(v) for v in g.rng.integers(1, 7, 3))
    a, b = g.new(g.rng.integers(0, 256, (m, k)).astype(np.uint8)), g.new(g.rng.integers(-64, 64, (k, n)).astype(np.int8))
    zeros = [g.new(np.uint8(g.rng.integers(0, 256))), g.new(np.int8(g.rng.integers(-64, 64)))]
    g.add(name, [a, b] + zeros[: int(g.rng.integers(0, 3))], {})


@operator("ConvInteger")
def conv_integer(g, name):
    x = g.new(g.rng.integers(0, 256, (1, 2, 6, 6)).astype(np.uint8))
    w = g.new(g.rng.integers(0, 256, (3, 2, 3, 3)).astype(np.uint8))
    g.add(name, [x, w, g.new(np.uint8(g.rng.integers(0, 256)))], {"pads": [1, 1, 1, 1]} if g.rng.random() < 0.5 else {})


def quantized(g, dims, dtype=np.uint8):
    i = np.iinfo(dtype)
    low, high = (-64, 64) if i.min else (0, 256)
    return (g.new(g.rng.integers(low, high, dims).astype(dtype)), g.new(np.float32(g.rng.uniform(0.01, 0.1)), True),
            g.new(dtype(g.rng.integers(-5, 5) if i.min else g.rng.integers(120, 136)), True))  # fmt: skip


@operator("QLinearMatMul")
def qlinear_matmul(g, name):
    m, k, n = (int(v) for v in g.rng.integers(1, 7, 3))
    g.add(name, [*quantized(g, (m, k)), *quantized(g, (k, n)), *quantized(g, ())[1:]], {})


@operator("QLinearConv")
def qlinear_conv(g, name):
    o = int(g.rng.integers(1, 5))
    w = list(quantized(g, (o, 2, 3, 3), np.int8))
    if g.rng.random() < 0.5:
        w[1:] = [g.new(g.rng.uniform(0.01, 0.1, o).astype(F32), True), g.new(np.zeros(o, np.int8), True)]
    bias = [g.new(random(g, (o,), I32), True)] if g.rng.random() < 0.5 else []
    g.add(name, [*quantized(g, (1, 2, 6, 5)), *w, *quantized(g, ())[1:], *bias], {"pads": [1, 0, 1, 0]})


@operator("QuantizeLinear", "DequantizeLinear")
def quantize(g, name):
    s = shape(g, 1)
    axis = int(g.rng.integers(0, len(s)))
    n = () if g.rng.random() < 0.5 else (s[axis],)
    dtype = [np.uint8, np.int8][g.rng.integers(0, 2)]
    x = g.new(random(g, s)) if name == "QuantizeLinear" else g.new(random(g, s, np.dtype(dtype)))
    g.add(
        name,
        [x, g.new(g.rng.uniform(0.01, 0.1, n).astype(F32)), g.new(g.rng.integers(0, 5, n).astype(dtype))],
        {"axis": axis},
    )


@operator("DynamicQuantizeLinear")
def dynamic_quantize(g, name):
    g.add(name, [tensor(g, 1)], {}, 3)


@operator("Einsum")
def einsum(g, name):
    sizes = {c: int(g.rng.integers(1, 5)) for c in "abcd"}
    equation = str(g.rng.choice(["ab,bc->ac", "abc,acd->abd", "ab->ba", "ab,ab->a", "aab->ab", "a,b->ab", "abc,cd,d->ab", "ab->",
                                 "ab,b", "ba"]))  # fmt: skip
    g.add(
        name,
        [tensor(g, dims=tuple(sizes[c] for c in term)) for term in equation.split("->")[0].split(",")],
        {"equation": equation},
    )


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
    pads = [int(g.rng.integers(0, max(1, min(3, n)))) for n in s + s]
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


@operator(*("Reduce" + k for k in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")))
def reduce(g, name):
    dtype = F32 if g.rng.random() < 0.8 or name not in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd") else I32
    x = tensor(g, 1, dtype=dtype) if name != "ReduceLogSum" else g.new(np.abs(random(g, shape(g, 1))) + np.float32(0.1))
    rank = len(dims(g, x))
    a = {"keepdims": int(g.rng.integers(2))}
    if g.rng.random() < 0.2:
        g.add(name, [x], {**a, "noop_with_empty_axes": int(g.rng.integers(2))})
    else:
        axes = [
            int(v) - (rank if g.rng.random() < 0.3 else 0) for v in g.rng.permutation(rank)[: g.rng.integers(1, rank + 1)]
        ]
        g.add(name, [x, ints(g, axes)], a)


@operator("ArgMax", "ArgMin")
def arg_reduce(g, name):
    x = tensor(g, 1)
    g.add(
        name,
        [x],
        {
            "axis": axis_of(g, len(dims(g, x))),
            "keepdims": int(g.rng.integers(2)),
            "select_last_index": int(g.rng.integers(2)),
        },
    )


@operator("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
def along_axis(g, name):
    x = tensor(g, 1)
    g.add(
        name,
        [x],
        {"axis": axis_of(g, len(dims(g, x)))} | ({"p": int(g.rng.integers(1, 3))} if name == "LpNormalization" else {}),
    )


@operator("AveragePool", "MaxPool", "LpPool")
def pool(g, name):
    spatial = tuple(int(v) for v in g.rng.integers(4, 8, g.rng.integers(1, 4)))
    a = window(g, spatial)
    if "auto_pad" not in a and g.rng.random() < 0.4 and name != "LpPool":
        a["ceil_mode"] = 1
    if name == "LpPool":
        a.pop("dilations", None)  # onnxruntime ignores them
    if name == "AveragePool":
        a["count_include_pad"] = int(g.rng.integers(2))
    g.add(name, [tensor(g, dims=(2, 2, *spatial))], a, 2 if name == "MaxPool" and g.rng.random() < 0.4 else 1)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, name):
    g.add(name, [tensor(g, 3)], {})


@operator("CumSum")
def cumsum(g, name):
    x = tensor(g, 1)
    g.add(
        name,
        [x, ints(g, axis_of(g, len(dims(g, x))))],
        {"exclusive": int(g.rng.integers(2)), "reverse": int(g.rng.integers(2))},
    )


@operator("TopK")
def topk(g, name):
    x = tensor(g, 1)
    axis = axis_of(g, len(dims(g, x)))
    k = int(g.rng.integers(1, dims(g, x)[axis] + 1))
    g.add(name, [x, ints(g, [k])], {"axis": axis, "largest": int(g.rng.integers(2)), "sorted": 1}, 2)


@operator("BatchNormalization")
def batch_norm(g, name):
    x = tensor(g, 2)
    c = (dims(g, x)[1],)
    g.add(
        name, [x, *(tensor(g, dims=c) for _ in range(3)), g.new(np.abs(random(g, c)) + np.float32(0.5))], {"epsilon": 1e-3}
    )


@operator("InstanceNormalization")
def instance_norm(g, name):
    x = tensor(g, 3)
    c = (dims(g, x)[1],)
    g.add(name, [x, tensor(g, dims=c), tensor(g, dims=c)], {})


@operator("LayerNormalization")
def layer_norm(g, name):
    x = tensor(g, 1)
    axis = axis_of(g, len(dims(g, x)))
    s = dims(g, x)[axis:]
    g.add(name, [x, tensor(g, dims=s)] + ([tensor(g, dims=s)] if g.rng.random() < 0.6 else []), {"axis": axis},
          int(g.rng.choice([1, 1, 3])))  # fmt: skip


@operator("GroupNormalization")
def group_norm(g, name):
    groups = int(g.rng.integers(1, 4))
    c = groups * int(g.rng.integers(1, 4))
    g.add(name, [tensor(g, dims=(2, c, 3, 4)), tensor(g, dims=(c,)), tensor(g, dims=(c,))], {"num_groups": groups})


@operator("LRN")
def lrn(g, name):
    g.add(name, [tensor(g, dims=(1, 5, 3, 2))], {"size": int(g.rng.integers(1, 5)), "alpha": 0.1, "beta": 0.6, "bias": 1.5})


@operator("MeanVarianceNormalization")
def mvn(g, name):
    g.add(name, [tensor(g, 4, 4)], {"axes": [0, 2, 3]} if g.rng.random() < 0.5 else {})


@operator("RNN", "GRU", "LSTM")
def recurrent(g, name):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    t, b, i, h = (int(v) for v in g.rng.integers(1, 5, 4))
    direction = str(g.rng.choice(["forward", "reverse", "bidirectional"]))
    d = 2 if direction == "bidirectional" else 1
    names = [tensor(g, dims=(t, b, i)), tensor(g, dims=(d, gates * h, i)), tensor(g, dims=(d, gates * h, h))]
    a = {"hidden_size": h, "direction": direction}
    if name == "GRU":
        a["linear_before_reset"] = int(g.rng.integers(2))
    if g.rng.random() < 0.7:
        names.append(tensor(g, dims=(d, 2 * gates * h)))
        if g.rng.random() < 0.6:
            names.append(g.new(g.rng.integers(1, t + 1, b).astype(I32)) if g.rng.random() < 0.5 else "")
            names.append(tensor(g, dims=(d, b, h)))
            if name == "LSTM":
                names += [tensor(g, dims=(d, b, h))] + ([tensor(g, dims=(d, 3 * h))] if g.rng.random() < 0.5 else [])
    g.add(name, names, a, 3 if name == "LSTM" else 2)
