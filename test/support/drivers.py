"""Two ways to compile and run a model, behind one interface: the Python module and the command line.

driver.compile(path_or_bytes, ...) -> Compiled; compiled.run({name: array}, threads=1) -> {name: array}
Refused: mopt said no, with a code (exit status 2 of the commands). Broken: a fault of mopt itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RELEASE = Path(os.environ.get("MOPT_BUILD", ROOT / "build")) / "release"

# Types that arrays carry as integers with the same bits.
CARRIED = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
    "int2": ml_dtypes.int2,
    "uint2": ml_dtypes.uint2,
}
CARRIERS = {np.dtype(kind): (np.int8 if name in ("int4", "int2") else np.uint8) for name, kind in CARRIED.items()}
CARRIERS[np.dtype(ml_dtypes.bfloat16)] = np.uint16

Shapes = Mapping[str, Sequence[int]]


class Refused(Exception):
    """mopt said no. code: "MOPT-I008" and the like."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = re.search(r"MOPT-[A-Z]\d+", message)
        self.code = found.group() if found else ""


class Broken(Exception):
    """A crash, a timeout, or a status that stands for a fault of mopt."""


def carry(array: np.ndarray) -> np.ndarray:
    """As integers with the same bits, where numpy itself has no such type."""
    array = np.asarray(array)
    return array.view(CARRIERS[array.dtype]) if array.dtype in CARRIERS else array


class PythonDriver:
    """In this process: fast, but a crash takes the process with it."""

    name = "python"

    def compile(self, model: str | Path | bytes, *, shapes: Shapes | None = None, cpu: str = "", threads: int = 1):
        import mopt

        try:
            return _PythonModel(mopt.compile(model, shapes=shapes, cpu=cpu, threads=threads))
        except mopt.MoptError as error:
            raise Refused(str(error)) if _is_refusal(error.code) else Broken(str(error)) from error


def _is_refusal(code: str) -> bool:
    """Numbers from 100 on are mopt's own faults."""
    return bool(code) and int(code[6:]) < 100


class _PythonModel:
    def __init__(self, model) -> None:
        self.model = model

    def run(self, inputs: Mapping[str, np.ndarray], threads: int = 1) -> dict[str, np.ndarray]:
        import mopt

        try:
            results = self.model.run(dict(inputs))
        except mopt.MoptError as error:
            raise Refused(str(error)) if _is_refusal(error.code) else Broken(str(error)) from error
        types = {info.name: info.dtype for info in self.model.outputs}
        return {name: value.view(CARRIED.get(types[name], value.dtype)) for name, value in results.items()}

    def save(self, path: Path) -> None:
        self.model.save(path)


class CliDriver:
    """Through `mopt compile` and `mopt run`: slower; a crash ends only that command."""

    name = "cli"

    def __init__(self, binaries: Path | None = None, timeout: float = 120) -> None:
        self.mopt = (binaries or RELEASE / "bin") / "mopt"
        self.timeout = timeout

    def compile(self, model: str | Path | bytes, *, shapes: Shapes | None = None, cpu: str = "", threads: int = 1,
                triple: str = "", requantize: str = ""):  # fmt: skip
        folder = tempfile.TemporaryDirectory(prefix="mopt-")
        base = Path(folder.name)
        if isinstance(model, bytes):
            (base / "model.onnx").write_bytes(model)
            model = base / "model.onnx"
        command = [self.mopt, "compile", model, "-o", base / "model.so", "--quiet"]
        command += ["--cpu", cpu] if cpu else []
        command += ["--triple", triple] if triple else []
        command += ["--requantize", requantize] if requantize else []
        for name, sizes in (shapes or {}).items():
            command += ["--shape", f"{name}={'x'.join('?' if size < 0 else str(size) for size in sizes)}"]
        execute(command, self.timeout)
        return _CliModel(self, folder, threads)


class _CliModel:
    def __init__(self, driver: CliDriver, folder: tempfile.TemporaryDirectory, threads: int) -> None:
        self.driver, self.folder, self.threads = driver, folder, threads
        self.path = Path(folder.name) / "model.so"

    def run(self, inputs: Mapping[str, np.ndarray], threads: int = 0) -> dict[str, np.ndarray]:
        base = Path(self.folder.name)
        np.savez(base / "in.npz", **{name: carry(value) for name, value in inputs.items()})
        execute([self.driver.mopt, "run", self.path, "--inputs", base / "in.npz", "--outputs", base / "out.npz",
                 "--threads", str(threads or self.threads)], self.driver.timeout)  # fmt: skip
        with np.load(base / "out.npz") as results:
            return {name: results[name] for name in results.files}

    def save(self, path: Path) -> None:
        path.write_bytes(self.path.read_bytes())


def execute(command: Sequence[str | Path], timeout: float) -> str:
    """Standard output of a command; Refused for exit status 2, Broken for everything else that is not 0."""
    try:
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                                errors="replace", stdin=subprocess.DEVNULL, check=False)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Broken(f"longer than {timeout:.0f} s: {Path(command[0]).name} {command[1]}") from error
    except OSError as error:
        raise Broken(f"{command[0]} cannot be started: {error.strerror}; run ./dev build") from error
    if result.returncode == 0:
        return result.stdout
    errors = [line for line in result.stderr.splitlines() if line.startswith("error")]
    text = (errors or result.stderr.strip().splitlines()[-1:] or ["no message"])[0]
    if result.returncode == 2:
        raise Refused(text)
    kind = f"signal {-result.returncode}" if result.returncode < 0 else f"exit status {result.returncode}"
    raise Broken(f"{kind}: {text[:400]}")


def driver_named(name: str):
    if name == "auto":
        try:
            import mopt

            name = "python" if hasattr(mopt._core, "compile_bytes") else "cli"
        except ImportError:
            name = "cli"
    if name == "cli" and not (RELEASE / "bin" / "mopt-compiler").exists():
        raise SystemExit(f"{RELEASE}/bin/mopt-compiler was not built: ./dev build")
    return {"python": PythonDriver, "cli": CliDriver}[name]()
