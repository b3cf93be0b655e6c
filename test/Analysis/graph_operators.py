"""Generators of random nodes that compute, one per operator: OPERATORS[name](graph) adds a node that is valid, or nothing."""

from __future__ import annotations

import numpy as np
from graph_values import (
    BOOL,
    F32,
    I32,
    I64,
    axis_of,
    dims,
    ints,
    partner,
    quantized,
    random,
    registry,
    shape,
    tensor,
    window,
)

OPERATORS, operator = registry()


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
    slope = partner(g, dims(g, x))
    if g.rng.random() < 0.1:
        slope = (1, *slope)
    g.add(name, [x, tensor(g, dims=slope)], {})


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
    each = [(1,) if g.rng.random() < 0.1 else (c,) for _ in "sb"]
    g.add(name, [tensor(g, dims=(2, c, 3, 4)), *(tensor(g, dims=n) for n in each)], {"num_groups": groups})


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
