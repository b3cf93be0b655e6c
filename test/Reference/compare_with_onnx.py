"""Runs the reference functions on ONNX's node tests and on random nodes that onnxruntime judges.

Needs a shared library of lib/Reference with visible symbols and the generated header with the slots:

  clang++-22 -shared -fPIC -std=c++17 -O2 -march=x86-64-v3 -ffreestanding -fno-exceptions -fno-rtti -fno-strict-aliasing \
      -ffp-contract=off -fno-math-errno -Iinclude -IBUILD/include lib/Reference/*.cpp -o libref.so
  MOPT_REFERENCE_LIB=libref.so MOPT_SLOTS=BUILD/include/mopt/Reference/Slots.h.inc pytest test/Reference/compare_with_onnx.py

Every node is run as one chunk and cut at random places: the bits must be equal (numeric contract).
"""
import ctypes
import os
import re

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
LIBRARY, SLOTS = os.environ.get("MOPT_REFERENCE_LIB"), os.environ.get("MOPT_SLOTS")
pytestmark = pytest.mark.skipif(not LIBRARY or not SLOTS, reason="MOPT_REFERENCE_LIB and MOPT_SLOTS are not set")

MAX_RANK = 8


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("dims", ctypes.c_int64 * MAX_RANK), ("strides", ctypes.c_int64 * MAX_RANK)]


class Attr(ctypes.Structure):
    _fields_ = [("values", ctypes.c_void_p), ("n", ctypes.c_int64)]


class Fault(ctypes.Structure):
    _fields_ = [("got", ctypes.c_int64), ("limit", ctypes.c_int64), ("operand", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class Failed(Exception):
    pass


# ---- records ----

def read_records(path):
    """{op: (operand names, result names, [(attribute, kind)], {attribute: choices}, units)} from the generated header."""
    text, records = open(path).read(), {}
    for block in re.split(r"\n(?=/\* \w+: operands)", text)[1:]:
        head = re.match(r"/\* (\w+): operands(.*?); results(.*?); units: (\w+) \*/", block)
        op = head.group(1)
        names = lambda part: [re.sub(r"^\d+=", "", item) for item in part.split()]
        prefix = f"MOPT_{op.upper()}_"
        attrs = [(name[len(prefix):].lower(), kind) for name, kind in re.findall(r"(MOPT_\w+) = \d+ /\* (\w+) \*/", block)]
        choices = {}
        for line in block.splitlines():
            found = re.findall(r"(MOPT_\w+) = (\d+)(?=[, ])(?! /\*)", line) if line.startswith("enum") and "/*" not in line else []
            for name, kind in attrs:
                start = f"{prefix}{name.upper()}_"
                if found and all(n.startswith(start) for n, _ in found):
                    choices[name] = {n[len(start):].lower(): int(v) for n, v in found}
        records[op] = (names(head.group(2)), names(head.group(3)), attrs, choices, head.group(4))
    return records


RECORDS = read_records(SLOTS) if SLOTS else {}
DEFAULTS = {  # where the record's default is not 0 or nothing
    "gemm": {"alpha": 1.0, "beta": 1.0}, "reduce": {"keepdims": 1}, "arg_reduce": {"keepdims": 1}, "topk": {"axis": -1, "largest": 1},
    "softmax": {"axis": -1}, "log_softmax": {"axis": -1}, "hardmax": {"axis": -1}, "lp_pool": {"p": 2}, "global_lp_pool": {"p": 2},
    "batch_norm": {"epsilon": 1e-5, "momentum": 0.9}, "instance_norm": {"epsilon": 1e-5}, "group_norm": {"epsilon": 1e-5},
    "layer_norm": {"axis": -1, "epsilon": 1e-5}, "rms_norm": {"axis": -1, "epsilon": 1e-5}, "lp_norm": {"axis": -1, "p": 2},
    "lrn": {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}, "quantize_linear": {"axis": 1, "saturate": 1}, "dequantize_linear": {"axis": 1},
    "conv": {"group": 1}, "conv_transpose": {"group": 1}, "conv_integer": {"group": 1}, "qlinear_conv": {"group": 1},
}

# ONNX name: (op, attributes that the name fixes)
OPS = {
    "MatMul": ("matmul", {}), "Gemm": ("gemm", {}), "Conv": ("conv", {}), "ConvTranspose": ("conv_transpose", {}),
    "MatMulInteger": ("matmul_integer", {}), "ConvInteger": ("conv_integer", {}), "QLinearMatMul": ("qlinear_matmul", {}),
    "QLinearConv": ("qlinear_conv", {}), "Einsum": ("einsum", {}), "ArgMax": ("arg_reduce", {"kind": "max"}),
    "ArgMin": ("arg_reduce", {"kind": "min"}), "Softmax": ("softmax", {}), "LogSoftmax": ("log_softmax", {}),
    "Hardmax": ("hardmax", {}), "AveragePool": ("average_pool", {}), "MaxPool": ("max_pool", {}), "LpPool": ("lp_pool", {}),
    "GlobalAveragePool": ("global_average_pool", {}), "GlobalMaxPool": ("global_max_pool", {}), "GlobalLpPool": ("global_lp_pool", {}),
    "CumSum": ("cumsum", {}), "TopK": ("topk", {}), "BatchNormalization": ("batch_norm", {}),
    "InstanceNormalization": ("instance_norm", {}), "LayerNormalization": ("layer_norm", {}), "RMSNormalization": ("rms_norm", {}),
    "GroupNormalization": ("group_norm", {}), "LpNormalization": ("lp_norm", {}), "LRN": ("lrn", {}),
    "QuantizeLinear": ("quantize_linear", {}), "DequantizeLinear": ("dequantize_linear", {}),
    "DynamicQuantizeLinear": ("dynamic_quantize_linear", {}), "RNN": ("rnn", {}), "GRU": ("gru", {}), "LSTM": ("lstm", {}),
}
for onnx_name in ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]:
    kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", onnx_name).lower()
    OPS["Reduce" + onnx_name] = ("reduce", {"kind": kind})


# ---- calling ----

def bits_of(type_):
    t = onnx.TensorProto
    return {t.INT4: 4, t.UINT4: 4, t.INT2: 2, t.UINT2: 2, t.FLOAT4E2M1: 4}.get(type_, 0)


def pack(array, type_):
    bits = bits_of(type_)
    if not bits:
        return np.ascontiguousarray(array)
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    per = 8 // bits
    codes = np.concatenate([codes, np.zeros(-len(codes) % per, np.uint8)]).reshape(-1, per)
    return np.bitwise_or.reduce(codes << (np.arange(per, dtype=np.uint8) * bits), axis=1).astype(np.uint8)


def unpack(data, like, type_):
    bits = bits_of(type_)
    if not bits:
        return data.reshape(like.shape)
    per = 8 // bits
    codes = (data[:, None] >> (np.arange(per, dtype=np.uint8) * bits)).reshape(-1)[:like.size] & ((1 << bits) - 1)
    if type_ in (onnx.TensorProto.INT4, onnx.TensorProto.INT2):
        codes = ((codes.astype(np.int8) << (8 - bits)).astype(np.int8) >> (8 - bits)).view(np.uint8)
    return codes.astype(np.uint8).view(like.dtype).reshape(like.shape)


def descriptor(data, shape, type_, keep):
    t = Tensor()
    if data is None:
        return t
    keep.append(data)
    t.data, t.type, t.rank = data.ctypes.data, type_, len(shape)
    stride = 1
    for i in reversed(range(len(shape))):
        t.dims[i], t.strides[i] = shape[i], stride
        stride *= shape[i]
    return t


def units_of(op, results, attributes):
    units = RECORDS[op][4]
    shape = list(results[0].shape) if results[0] is not None else []
    axis = int(attributes.get("axis", 0)) if shape else 0
    axis += len(shape) if axis < 0 else 0
    product = lambda dims: int(np.prod(dims, dtype=np.int64))
    if units == "slices":
        return product(shape[:axis] if attributes.get("flatten") else shape[:axis] + shape[axis + 1:])
    return {"serial": 1, "elements": product(shape), "rows": product(shape[:-1]), "planes": product(shape[:2]),
            "outer": product(shape[:1]), "before_axis": product(shape[:axis])}[units]


def run_op(op, inputs, results, attributes, pieces=None):
    """Results of the op; `results` are arrays of the wanted types and shapes, None where a result is left out."""
    library = ctypes.CDLL(LIBRARY)
    operand_names, result_names, attr_rows, choices, _ = RECORDS[op]
    attributes = {**DEFAULTS.get(op, {}), **attributes}
    keep = []
    type_of = lambda a: onnx.helper.np_dtype_to_tensor_dtype(a.dtype)
    nin = max(len(inputs), len(operand_names))
    ins = (Tensor * max(nin, 1))()
    for i, a in enumerate(inputs):
        if a is not None:
            ins[i] = descriptor(pack(a, type_of(a)), a.shape, type_of(a), keep)
    outs, buffers = (Tensor * max(len(result_names), 1))(), []
    for i, a in enumerate(results):
        data = None
        if a is not None:
            bits = bits_of(type_of(a))
            data = np.full((a.size * bits + 7) // 8, 0xAA, np.uint8) if bits else np.full(a.size * a.itemsize, 0xAA, np.uint8).view(a.dtype)
        buffers.append(data)
        if a is not None:
            outs[i] = descriptor(data, a.shape, type_of(a), keep)
    attrs = (Attr * max(len(attr_rows), 1))()
    for i, (name, kind) in enumerate(attr_rows):
        value = attributes.get(name)
        if value is None and kind in ("Int", "Choice") and name != "clip":
            value = 0
        if value is None:
            continue
        if kind == "Choice" and not isinstance(value, int):
            value = choices[name][(value.decode() if isinstance(value, bytes) else value).lower()]
        if kind in ("String", "Strings"):
            text = b"\n".join(v if isinstance(v, bytes) else v.encode() for v in (value if kind == "Strings" else [value]))
            data = np.frombuffer(text, np.uint8)
        else:
            data = np.atleast_1d(np.array(value, np.float64 if kind.startswith("Float") else np.int64))
        keep.append(data)
        attrs[i].values, attrs[i].n = data.ctypes.data, data.size
    total = units_of(op, results, attributes)
    cuts = [0] + sorted(pieces(total) if pieces else []) + [total]
    fault = Fault()
    function = getattr(library, "mopt_ref_" + op)
    for begin, end in zip(cuts, cuts[1:]):
        status = function(ins, nin, outs, len(result_names), attrs, ctypes.c_int64(begin), ctypes.c_int64(end), ctypes.byref(fault))
        if status:
            raise Failed(f"{op}: status {status}, got {fault.got}, limit {fault.limit}, operand {fault.operand}")
    return [None if a is None else unpack(data, a, type_of(a)) for a, data in zip(results, buffers)]


def run_node(node, opset, inputs, expected):
    """inputs: name -> array. Returns the results in the order of node.output."""
    op, attributes = OPS[node.op_type][0], dict(OPS[node.op_type][1])
    attributes.update({a.name.lower(): onnx.helper.get_attribute_value(a) for a in node.attribute})
    operands = [inputs[name] if name else None for name in node.input]
    if node.op_type in ("Softmax", "LogSoftmax", "Hardmax") and opset < 13:
        attributes["flatten"] = 1
        attributes.setdefault("axis", 1)
    if node.op_type == "GroupNormalization" and opset < 21:
        attributes["scale_per_group"] = 1
    if op == "reduce" and "axes" in attributes:
        operands.append(np.array(attributes.pop("axes"), np.int64))
    results = [expected[name] if name else None for name in node.output]
    results += [None] * (len(RECORDS[op][1]) - len(results))
    whole = run_op(op, operands, results, attributes)
    random = np.random.default_rng(1)
    per_byte = max([8 // bits_of(onnx.helper.np_dtype_to_tensor_dtype(r.dtype)) for r in results
                    if r is not None and bits_of(onnx.helper.np_dtype_to_tensor_dtype(r.dtype))] + [1])
    cut = run_op(op, operands, results, attributes, lambda n: random.integers(0, n + 1, min(n, 5)) // per_byte * per_byte)
    for a, b in zip(whole, cut):
        if a is not None:
            assert a.tobytes() == b.tobytes(), "a cut into chunks changed bits"
    return whole[:len(node.output)]


def check(name, got, expected, rtol, atol):
    assert got.shape == expected.shape and got.dtype == expected.dtype, name
    if got.dtype.kind in "iub" or got.dtype.itemsize == 1:
        a, b = got.view(np.uint8) if got.dtype.itemsize == 1 else got, expected.view(np.uint8) if got.dtype.itemsize == 1 else expected
        np.testing.assert_array_equal(a, b, err_msg=name)
    else:
        if got.dtype.itemsize == 2:
            rtol, atol = max(rtol, 1e-2 if "bfloat" in str(got.dtype) else 2e-3), max(atol, 1e-3)
        np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol, err_msg=name)


# ---- ONNX's node tests ----

def node_tests():
    if not LIBRARY:
        return []
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests
        cases = load_model_tests(kind="node")
    return [c for c in cases if c.model is not None and len(c.model.graph.node) == 1 and c.model.graph.node[0].op_type in OPS
            and c.model.graph.node[0].domain == ""]


@pytest.mark.parametrize("case", node_tests(), ids=lambda c: c.name)
def test_onnx_node(case):
    graph = case.model.graph
    node = graph.node[0]
    opset = max(o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx"))
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    array = lambda a: onnx.numpy_helper.to_array(a) if isinstance(a, onnx.TensorProto) else np.asarray(a)
    for inputs, outputs in case.data_sets:
        named = dict(weights, **{i.name: array(a) for i, a in zip([i for i in graph.input if i.name not in weights], inputs)})
        expected = {o.name: array(a) for o, a in zip(graph.output, outputs)}
        for o, got in zip(node.output, run_node(node, opset, named, expected)):
            if o:
                check(o, got, expected[o], max(case.rtol, 1e-5), max(case.atol, 1e-6))


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q"]))
