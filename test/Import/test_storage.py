"""Every form in which ONNX stores a tensor comes out with the same elements."""

import hashlib

import ml_dtypes
import numpy as np
import onnx
import pytest
from conftest import model, mopt, refused, round_trip, value
from onnx import TensorProto as T
from onnx import helper, numpy_helper


def read_back(made, tmp_path, name="y"):
    """The constant that the model returns, as raw bytes after a round trip."""
    source = tmp_path / "in.onnx"
    if not isinstance(made, str):
        onnx.save(made, source)
    out = onnx.load(round_trip(source, tmp_path))
    tensors = {t.name: t for t in out.graph.initializer}
    node = next(n for n in out.graph.node if name in n.output)
    assert node.op_type == "Identity"
    return tensors[node.input[0]]


def constant_model(tensor, opset=21):
    return model(
        [helper.make_node("Identity", [tensor.name], ["y"])],
        [],
        [value("y", list(tensor.dims), tensor.data_type)],
        [tensor],
        opset=opset,
        ir=10,
    )


NUMPY = {
    T.FLOAT: np.float32,
    T.DOUBLE: np.float64,
    T.INT8: np.int8,
    T.INT16: np.int16,
    T.INT32: np.int32,
    T.INT64: np.int64,
    T.UINT8: np.uint8,
    T.UINT16: np.uint16,
    T.UINT32: np.uint32,
    T.UINT64: np.uint64,
    T.FLOAT16: np.float16,
    T.BOOL: np.bool_,
    T.BFLOAT16: ml_dtypes.bfloat16,
    T.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    T.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    T.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    T.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
}


def elements(kind, n):
    rng = np.random.default_rng(kind * 1000 + n)
    dtype = NUMPY[kind]
    if kind == T.BOOL:
        return rng.integers(0, 2, n).astype(bool)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    return rng.standard_normal(n).astype(dtype)


def typed(kind, data, name="w"):
    """The tensor in the typed field that belongs to its element type."""
    tensor = T(name=name, data_type=kind, dims=[len(data)])
    if kind == T.FLOAT:
        tensor.float_data.extend(data)
    elif kind == T.DOUBLE:
        tensor.double_data.extend(data)
    elif kind == T.INT64:
        tensor.int64_data.extend(map(int, data))
    elif kind in (T.UINT32, T.UINT64):
        tensor.uint64_data.extend(map(int, data))
    elif np.dtype(data.dtype).itemsize == 2 and kind in (T.FLOAT16, T.BFLOAT16):
        tensor.int32_data.extend(map(int, data.view(np.uint16)))
    elif np.dtype(data.dtype).kind not in "iub":
        tensor.int32_data.extend(map(int, data.view(np.uint8)))
    else:
        tensor.int32_data.extend(map(int, data))
    return tensor


@pytest.mark.parametrize("n", [3, 700])
@pytest.mark.parametrize("kind", sorted(NUMPY))
def test_typed_fields_and_raw(kind, n, tmp_path):
    data = elements(kind, n)
    expected = data.tobytes()
    raw = T(name="w", data_type=kind, dims=[n], raw_data=expected)
    for tensor in (raw, typed(kind, data)):
        back = read_back(constant_model(tensor), tmp_path)
        assert back.data_type == kind and list(back.dims) == [n]
        assert back.raw_data == expected


@pytest.mark.parametrize("kind", [T.INT4, T.UINT4])
@pytest.mark.parametrize("n", [5, 3001])
def test_four_bits(kind, n, tmp_path):
    packed = np.random.default_rng(n).integers(0, 256, (n + 1) // 2).astype(np.uint8)
    packed[-1] &= 15
    raw = T(name="w", data_type=kind, dims=[n], raw_data=packed.tobytes())
    filled = T(name="w", data_type=kind, dims=[n])
    filled.int32_data.extend(map(int, packed))
    for tensor in (raw, filled):
        assert read_back(constant_model(tensor), tmp_path).raw_data == packed.tobytes()


@pytest.mark.parametrize("n", [4, 5000])
def test_external(n, tmp_path):
    data = np.arange(n, dtype=np.float32)
    whole = b"\0" * 64 + data.tobytes() + b"tail"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(whole)
    tensor = T(name="w", data_type=T.FLOAT, dims=[n], data_location=T.EXTERNAL)
    entries = {"location": "sub/w.bin", "offset": "64", "length": str(4 * n), "checksum": hashlib.sha1(whole).hexdigest()}
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=text)
    assert read_back(constant_model(tensor), tmp_path).raw_data == data.tobytes()
    tensor.external_data[3].value = "0" * 40
    onnx.save(constant_model(tensor), tmp_path / "bad.onnx")
    refused("I017", "import", tmp_path / "bad.onnx", "-o", tmp_path / "x.mlir", output=tmp_path / "x.mlir")


@pytest.mark.parametrize("linear", [True, False])
def test_sparse(linear, tmp_path):
    dense = np.zeros((4, 100), np.float32)
    dense[1, 3], dense[2, 0], dense[3, 99] = 1.5, -2, 7
    flat = np.flatnonzero(dense)
    indices = flat.astype(np.int64) if linear else np.stack(np.unravel_index(flat, dense.shape), 1).astype(np.int64)
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(dense.ravel()[flat], "w"), numpy_helper.from_array(indices, "i"), dense.shape
    )
    made = model([helper.make_node("Identity", ["w"], ["y"])], [], [value("y", dense.shape)])
    made.graph.sparse_initializer.append(sparse)
    assert read_back(made, tmp_path).raw_data == dense.tobytes()
    node = helper.make_node("Constant", [], ["c"], sparse_value=sparse)
    made = model([node, helper.make_node("Identity", ["c"], ["y"])], [], [value("y", dense.shape)])
    assert read_back(made, tmp_path).raw_data == dense.tobytes()


CONSTANTS = {
    "value_int": (7, np.int64(7)),
    "value_ints": ([1, -2, 3], np.array([1, -2, 3])),
    "value_float": (1.5, np.float32(1.5)),
    "value_floats": ([1.5, 2.5], np.array([1.5, 2.5], np.float32)),
    "value": (numpy_helper.from_array(np.eye(3, dtype=np.float64)), np.eye(3)),
}


@pytest.mark.parametrize("form", sorted(CONSTANTS))
def test_constant_nodes(form, tmp_path):
    given, expected = CONSTANTS[form]
    kind = helper.np_dtype_to_tensor_dtype(expected.dtype)
    made = model(
        [helper.make_node("Constant", [], ["c"], **{form: given}), helper.make_node("Identity", ["c"], ["y"])],
        [],
        [value("y", expected.shape, kind)],
    )
    back = read_back(made, tmp_path)
    np.testing.assert_array_equal(numpy_helper.to_array(back), expected)


def test_strings_are_refused(tmp_path):
    tensor = helper.make_tensor("w", T.STRING, [1], [b"a"])
    onnx.save(constant_model(tensor), tmp_path / "s.onnx")
    refused(("I014", "I020"), "import", tmp_path / "s.onnx", "-o", tmp_path / "x.mlir", output=tmp_path / "x.mlir")


def test_overridable(tmp_path):
    w = numpy_helper.from_array(np.ones(2, np.float32), "w")
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2]), value("w", [2])], [value("y", [2])], [w])
    onnx.save(made, tmp_path / "m.onnx")
    status, _, err = mopt("import", tmp_path / "m.onnx", "-o", tmp_path / "m.mlir")
    assert status == 0 and "MOPT-I029" in err
    assert (tmp_path / "m.mlir").read_text().count('mopt.name = "w"') == 0
    status, _, err = mopt("import", tmp_path / "m.onnx", "-o", tmp_path / "m.mlir", "--overridable-inputs")
    assert status == 0 and (tmp_path / "m.mlir").read_text().count('mopt.name = "w"') == 1
