"""mopt through the C interface of its runtime, called with ctypes: one foreign call a run, no copy of inputs."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import peer

BUILD = Path(os.environ.get("MOPT_BUILD") or Path(__file__).resolve().parents[2] / "build") / "release"
COMPILE_SECONDS = 900
MAX_RANK = 8
Handle = ctypes.c_void_p


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("step", ctypes.c_int32), ("got", ctypes.c_int64), ("limit", ctypes.c_int64),
                ("message", ctypes.c_char * 960)]  # fmt: skip


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("dtype", ctypes.c_uint32),
                ("rank", ctypes.c_uint32), ("dims", ctypes.c_int64 * MAX_RANK)]  # fmt: skip


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("profile", ctypes.c_uint32), ("pool", Handle), ("heap_limit", ctypes.c_uint64),
                ("plans", ctypes.c_uint32), ("keep_buffers", ctypes.c_uint32)]  # fmt: skip


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_uint32), ("rank", ctypes.c_uint32), ("dims", ctypes.c_void_p)]


class Runtime:
    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(BUILD / "lib" / "Runtime" / "libmopt_rt.so"))
        self.library.mopt_version.restype = self.library.mopt_dtype_name.restype = ctypes.c_char_p

    def call(self, name: str, *arguments) -> None:
        error = Error()
        if getattr(self.library, name)(*arguments, ctypes.byref(error)):
            raise RuntimeError(error.message.decode(errors="replace"))

    def dtype(self, number: int) -> np.dtype:
        return np.dtype(self.library.mopt_dtype_name(ctypes.c_uint32(number)).decode())


class Session(peer.Session):
    def __init__(self, runtime: Runtime, model, pool, inputs) -> None:
        self.runtime, self.inputs, handle = runtime, inputs, Handle()
        options = SessionOptions(size=ctypes.sizeof(SessionOptions), pool=pool)
        runtime.call("mopt_session_create", model, ctypes.byref(options), ctypes.byref(handle))
        self.handle, index, info = handle, 0, TensorInfo()
        while not runtime.library.mopt_model_input(model, index, ctypes.byref(info)):
            value = inputs[info.name.decode()]
            if value.dtype != runtime.dtype(info.dtype):
                raise peer.Unsupported(f"input {info.name.decode()} is {runtime.dtype(info.dtype)}, given {value.dtype}")
            array = Array(value.ctypes.data, value.nbytes, info.dtype, value.ndim, (ctypes.c_int64 * MAX_RANK)(*value.shape))
            runtime.call("mopt_session_set_input", handle, ctypes.c_uint32(index), ctypes.byref(array))
            index += 1
        error, function = Error(), runtime.library.mopt_session_run
        reference = ctypes.byref(error)

        def run():
            if function(handle, None, reference):
                raise RuntimeError(error.message.decode(errors="replace"))

        self.run = run

    def outputs(self):
        results, array, index = [], Array(), 0
        while not self.runtime.library.mopt_session_output(self.handle, ctypes.c_uint32(index), ctypes.byref(array), None):
            content = ctypes.string_at(array.data, array.bytes) if array.bytes else b""
            results.append(np.frombuffer(content, self.runtime.dtype(array.dtype)).reshape(array.dims[: array.rank]))
            index += 1
        return results


class Peer(peer.Peer):
    note = "its weights are mapped from the file, so they are not anonymous memory"

    def start(self, threads: int) -> str:
        self.runtime = Runtime()
        return self.runtime.library.mopt_version().decode()

    def prepare(self, work, folder):
        target = folder / "model.so"
        command = [BUILD / "bin" / "mopt", "compile", work.model, "-o", target, "--quiet"]
        if work.static:
            for name, value in work.inputs.items():
                command += ["--shape", f"{name}={'x'.join(str(size) for size in value.shape)}"]
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=COMPILE_SECONDS,
                                check=False)  # fmt: skip
        if result.returncode:
            raise RuntimeError(f"mopt compile: {result.stderr.strip()[:300]}")
        return [target]

    def load(self, files, threads, callers):
        self.model, self.pool = Handle(), Handle()
        self.runtime.call("mopt_model_load", str(files[0]).encode(), ctypes.byref(self.model))
        self.runtime.call("mopt_pool_create", ctypes.c_int32(threads), ctypes.byref(self.pool))

    def session(self, inputs):
        return Session(self.runtime, self.model, self.pool, inputs)
