"""Integer kernels for CPUs that are not here: the code that is made for them, with their dot instructions replaced by what
the manuals say these do, runs on any machine and gives the exact sums. Without this, vpdpbusd and 512 bits would be compiled
and never run. Operands end where a page ends that nothing may touch, so that no byte behind them is read or written."""

import ctypes
import mmap
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]

from drivers import RELEASE
from test_int8_kernels import Case, model_of

# The instruction that a CPU multiplies with, and the sums of one.
CPUS = {
    "cascadelake": ("llvm.x86.avx512.vpdpbusd.512", 16),
    "skylake-avx512": ("llvm.x86.avx512.pmaddw.d.512", 16),
    "alderlake": ("llvm.x86.avx512.vpdpbusd.256", 8),
    "x86-64-v3": ("llvm.x86.avx2.pmadd.wd", 8),
    "x86-64-v2": ("llvm.x86.sse2.pmadd.wd", 4),
}


def vector(lanes, bits):
    return f"<{lanes} x i{bits}>"


def every(values, width, step, first):
    """Lanes first, first + step, ... of a vector of i32, as one with fewer lanes."""
    lanes = ", ".join(f"i32 {first + step * i}" for i in range(width // step))
    return f"shufflevector {vector(width, 32)} {values}, {vector(width, 32)} poison, <{width // step} x i32> <{lanes}>"


def software(name, lanes):
    """LLVM IR of a function `soft` that does what the instruction does."""
    pairs = "pmadd" in name
    step, bits = (2, 16) if pairs else (4, 8)
    wide, narrow, sum_type = vector(step * lanes, 32), vector(step * lanes, bits), vector(lanes, 32)
    lines = [f"%a32 = {'sext' if pairs else 'zext'} {narrow} %a to {wide}", f"%b32 = sext {narrow} %b to {wide}",
             f"%p = mul {wide} %a32, %b32"]  # fmt: skip
    total = "zeroinitializer" if pairs else "%c"
    for i in range(step):
        lines += [f"%q{i} = {every('%p', step * lanes, step, i)}", f"%s{i} = add {sum_type} {total}, %q{i}"]
        total = f"%s{i}"
    arguments = f"{narrow} %a, {narrow} %b" if pairs else f"{sum_type} %c, {narrow} %a, {narrow} %b"
    body = "\n  ".join([*lines, f"ret {sum_type} {total}"])
    return f"define internal {sum_type} @soft({arguments}) noinline {{\n  {body}\n}}\n"


def build(model, cpu, folder):
    """The step functions as a shared library of this machine."""
    source = folder / "m.onnx"
    source.write_bytes(model)
    words = [RELEASE / "bin" / "mopt", "compile", source, "--cpu", cpu, "--emit", "llvm", "-o", folder / "m.ll", "--quiet"]
    subprocess.run(words, check=True, capture_output=True)
    text = (folder / "m.ll").read_text()
    name, lanes = CPUS[cpu]
    assert f"@{name}(" in text, "another instruction is used"
    text = re.sub(rf"declare .*@{re.escape(name)}\(.*\n", "", text).replace(f"@{name}(", "@soft(")
    assert "llvm.x86." not in text, "an instruction that is not replaced"
    text = re.sub(r'"(target-cpu|target-features|tune-cpu|prefer-vector-width)"="[^"]*" ?', "", text)
    text = re.sub(r"^@mopt_module = .*\n", "", text, flags=re.MULTILINE)  # the table: its weights are not linked
    text = re.sub(r"^@llvm\.(compiler\.)?used = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"define internal (.*@step_\d)", r"define \1", text)
    (folder / "soft.ll").write_text(text + software(name, lanes))
    command = ["clang-22", "-O1", "-shared", "-fPIC", "-Wno-override-module", folder / "soft.ll", "-o", folder / "soft.so"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "soft.so")), text


class Call(ctypes.Structure):
    """mopt_call."""

    _fields_ = [("buffers", ctypes.c_void_p), ("symbols", ctypes.c_void_p), ("chunk_begin", ctypes.c_int64),
                ("chunk_end", ctypes.c_int64), ("fault", ctypes.c_void_p), ("reserved", ctypes.c_void_p)]  # fmt: skip


class Guarded:
    """A copy of an array, of a multiple of 64 bytes, that ends at a page that cannot be touched."""

    def __init__(self, array):
        assert array.nbytes % 64 == 0
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        pages = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        self.memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
        everything = np.frombuffer(self.memory, np.uint8)
        assert libc.mprotect(everything.ctypes.data + pages, mmap.PAGESIZE, 0) == 0
        self.array = everything[pages - array.nbytes : pages].view(array.dtype).reshape(array.shape)
        self.array[...] = array


def pack(weights):
    """[taps, channels, columns] int8 to panels [ceil(n / 16), taps * ceil(c / 4), 16, 4]."""
    taps, channels, columns = weights.shape
    padded = np.zeros((taps, -(-channels // 4) * 4, -(-columns // 16) * 16), np.int8)
    padded[:, :channels, :columns] = weights
    split = padded.reshape(taps, padded.shape[1] // 4, 4, padded.shape[2] // 16, 16)
    return np.ascontiguousarray(split.transpose(3, 0, 1, 4, 2))


def cases():
    for depth, width in ((5, 3), (63, 33), (128, 70)):
        for a, b in (("uint8", "int8"), ("int8", "uint8"), ("int8", "int8")):
            yield Case("matmul", [depth], [depth, width], a, b, "int32")
    yield Case("matmul", [301], [301, 18], "uint8", "uint8", "int32", extreme=True)
    yield Case("matmul", [301], [301, 18], "int8", "int8", "int32", extreme=True)
    yield Case("conv", [8, 16, 16], [40, 8, 3, 3], "int8", "int8", "int32", pads=[1, 1, 1, 1])
    yield Case("conv", [7, 16, 16], [32, 7, 3, 3], "uint8", "int8", "int32", pads=[1, 1, 1, 1])


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(
    "case", list(cases()), ids=lambda case: f"{case.kind}-{case.a}-{case.b}-{'x'.join(map(str, case.w))}"
)
def test_sums(cpu, case):
    model = model_of([case])
    rows = 64 if case.kind == "matmul" else 2
    with tempfile.TemporaryDirectory() as folder:
        library, text = build(fixed_rows(model, rows), cpu, Path(folder))
        x = case.feed(rows)
        weights = case.weights.astype(np.int64) - case.w_zero
        y = case.expected(x, "float")
        if case.is_conv:
            taps = weights.reshape(*weights.shape[:2], -1).transpose(2, 1, 0)
            x, y = np.moveaxis(x, 1, -1), np.moveaxis(y, 1, -1)
        else:
            taps = weights[None]
        bias = np.zeros(-(-taps.shape[2] // 16) * 16, np.int32)  # whole vectors, to end at a page
        bias[: taps.shape[2]] = -case.a_zero * taps.sum((0, 1))
        result = Guarded(np.zeros(y.shape, np.int32))
        buffers = [Guarded(x), Guarded(pack(taps.astype(np.int8))), *([Guarded(bias)] if case.a_zero else []), result]
        pointers = (ctypes.c_void_p * len(buffers))(*[b.array.ctypes.data for b in buffers])
        call = Call(ctypes.addressof(pointers), None, 0, 1 << 20, None, None)
        functions = re.findall(r"^define .*?^}", text, flags=re.MULTILINE | re.DOTALL)
        (caller,) = [f for f in functions if re.search(r"@step_\d\(", f) and re.search(r"@(contraction|conv)_kernel", f)]
        assert getattr(library, re.search(r"@(step_\d)\(", caller)[1])(ctypes.byref(call)) == 0
        np.testing.assert_array_equal(result.array, y)


def fixed_rows(model, rows):
    """The model with a number for its symbol."""
    import onnx

    proto = onnx.load_from_string(model)
    for value in proto.graph.input:
        value.type.tensor_type.shape.dim[0].dim_value = rows
    return proto.SerializeToString()
