"""What a file is: by its first bytes where they say it, and a message that names what was found where they do not fit."""

import numpy as np
import onnx
import pytest
from conftest import model, mopt, refused, value
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def source(tmp_path):
    w = numpy_helper.from_array(np.arange(600, dtype=np.float32).reshape(2, 300), "w")
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", ["n", 2])], [value("y", ["n", 300])], [w])
    onnx.save(made, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@pytest.mark.parametrize("name", ["phase", "phase.mlir", "phase.txt", "phase.v2.grouped"])
@pytest.mark.parametrize("phase", ["normalized", "grouped", "buffers"])
def test_phases_are_entered_again_under_any_name(name, phase, source, tmp_path):
    out = tmp_path / "phases"
    out.mkdir()
    status, _, err = mopt("compile", source, "--to", phase, "-o", out / name)
    assert status == 0, err
    status, _, err = mopt("compile", out / name, "-o", out / "again.so")
    assert status == 0, err
    status, _, err = mopt("compile", source, "-o", out / "whole.so")
    assert status == 0, err
    assert (out / "again.so").read_bytes() == (out / "whole.so").read_bytes()


def test_sizes_are_bound_in_modules_under_any_name(source, tmp_path):
    for name in ("phase", "phase.mlir"):
        assert mopt("import", source, "-o", tmp_path / name)[0] == 0
        for command in ("inspect", "export"):
            out = ["-o", tmp_path / "out.onnx"] if command == "export" else []
            status, text, err = mopt(command, tmp_path / name, *out, "--shape", "x=7x2")
            assert status == 0, err
        assert onnx.load(tmp_path / "out.onnx").graph.output[0].type.tensor_type.shape.dim[0].dim_value == 7
        refused("C014", "inspect", tmp_path / name, "--shape", "nothing=7")


@pytest.mark.parametrize("name", ["model", "model.bin", "model.mlir"])
def test_onnx_is_read_under_any_name(name, source, tmp_path):
    (tmp_path / name).write_bytes(source.read_bytes())
    status, text, err = mopt("inspect", tmp_path / name)
    assert status == 0, err
    assert "input   x: float32[n,2]" in text


MODULE = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"


@pytest.mark.parametrize(
    "text",
    [
        MODULE,
        "\n\n// a comment\n  // and another\n" + MODULE,
        "module {\n" + MODULE + "}",
        "module @name {\n" + MODULE + "}",
        "#loc = loc(unknown)\n" + MODULE,
        "!t = tensor<2xf32>\n" + MODULE,
    ],
)
def test_text_of_modules(text, tmp_path):
    (tmp_path / "module").write_text(text)
    status, out, err = mopt("inspect", tmp_path / "module")
    assert status == 0, err
    assert "input   input0: float32[2]" in out


CONTENTS = {
    "elf": (b"\x7fELF\x02\x01\x01" + bytes(100), "an ELF file, as compiled artifacts are"),
    "zip": (b"PK\x03\x04" + bytes(100), "a zip archive"),
    "gzip": (b"\x1f\x8b\x08" + bytes(100), "gzip data"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file"),
    "tflite": (b"\x1c\x00\x00\x00TFL3" + bytes(100), "a TensorFlow Lite model"),
    "ort": (b"\x1c\x00\x00\x00ORTM" + bytes(100), "a model in onnxruntime's own format"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "a Git LFS pointer"),
    "html": (b"<!DOCTYPE html><html></html>", "a web page"),
    "npy": (b"\x93NUMPY\x01\x00" + bytes(100), "a numpy array"),
}


@pytest.mark.parametrize("name", sorted(CONTENTS))
@pytest.mark.parametrize("ending", ["", ".onnx"])
def test_message_says_what_was_found(name, ending, tmp_path):
    data, text = CONTENTS[name]
    path = tmp_path / f"file{ending}"
    path.write_bytes(data)
    line = refused("I001", "compile", path, "-o", tmp_path / "m.so", output=tmp_path / "m.so")
    assert f"not an ONNX ModelProto: the file is {text}" in line


@pytest.mark.parametrize(
    "text", ["# a heading\n", "modules are\n", "#!/bin/sh\n", "function f\n", "!", "#", "// only this", ""]
)
def test_other_text_is_no_module(text, tmp_path):
    (tmp_path / "file").write_text(text)
    refused("I001", "compile", tmp_path / "file", "-o", tmp_path / "m.so", output=tmp_path / "m.so")


def test_name_onnx_is_never_read_as_mlir(tmp_path):
    """Who takes files of that name from strangers does not want them in MLIR's parsers."""
    (tmp_path / "m.onnx").write_text(MODULE)
    line = refused("I001", "compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so")
    assert "the file is an MLIR module" in line
    (tmp_path / "b.onnx").write_bytes(b"ML\xefR" + bytes(100))
    assert "the file is an MLIR module" in refused("I001", "inspect", tmp_path / "b.onnx")
    (tmp_path / "m").write_text(MODULE)
    assert "the file is an MLIR module" in refused("I001", "import", tmp_path / "m", "-o", tmp_path / "o.mlir")


@pytest.mark.parametrize(
    "data", [b"ML\xefR", b"ML\xefR" + bytes(100), b"ML\xefR\x06MLIR22\x00" + b"\xff" * 50, b"module {", b"func.func @"]
)
def test_damaged_modules(data, tmp_path):
    (tmp_path / "file").write_bytes(data)
    refused("I032", "compile", tmp_path / "file", "-o", tmp_path / "m.so", output=tmp_path / "m.so")


def test_files_that_are_none(tmp_path):
    for path in (tmp_path, tmp_path / "absent.mlir", tmp_path / "absent"):
        refused(("I005", "I032"), "inspect", path)


TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])


def typed(proto):
    return helper.make_value_info("x", proto)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (value("x", ["n"], TensorProto.STRING), "elements of type string, expected numbers or booleans"),
        (value("x", None, TensorProto.STRING), "elements of type string, expected numbers or booleans"),
        (typed(helper.make_sequence_type_proto(TENSOR)), "a sequence, expected a tensor"),
        (typed(helper.make_map_type_proto(TensorProto.INT64, TENSOR)), "a map, expected a tensor"),
        (typed(helper.make_optional_type_proto(TENSOR)), "an optional value, expected a tensor"),
        (typed(helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [2])), "a sparse tensor, expected a tensor"),
        (helper.make_empty_tensor_value_info("x"), "of no known type, expected a tensor"),
    ],
)
def test_types_that_are_not_read(given, found, tmp_path):
    onnx.save(model([helper.make_node("Identity", ["x"], ["y"])], [given], [value("y", ["n"])]), tmp_path / "m.onnx")
    line = refused("I022", "import", tmp_path / "m.onnx", "-o", tmp_path / "m.mlir")
    assert found in line
    assert line.endswith(
        "use tensors of numbers or booleans; work on text, sequences and maps belongs before and after the model (node 'x')"
    )
    assert "--shape" not in line


def test_unknown_rank_is_given_by_shape(tmp_path):
    onnx.save(model([helper.make_node("Neg", ["x"], ["y"])], [value("x", None)], [value("y", None)]), tmp_path / "m.onnx")
    assert "--shape NAME=SIZExSIZE" in refused("I033", "import", tmp_path / "m.onnx", "-o", tmp_path / "m.mlir")
    status, text, err = mopt("inspect", tmp_path / "m.onnx", "--shape", "x=3x?")
    assert status == 0, err
    assert "input   x: float32[3,x_1]" in text
