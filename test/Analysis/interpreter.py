"""Runs ONNX models with `mopt-compiler interpret`: importer, shape rules and reference functions, no generated code."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "support"))
from drivers import carry, execute

COMPILER = os.environ.get("MOPT_COMPILER", "mopt-compiler")


class Interpreter:
    name = "interpreter"

    def __init__(self, phase: str = "imported", timeout: float = 60) -> None:
        self.phase, self.timeout = phase, timeout

    def compile(self, model: bytes):
        return _Model(self, model)


class _Model:
    def __init__(self, driver: Interpreter, model: bytes) -> None:
        self.driver, self.model = driver, model
        graph = onnx.load_from_string(model).graph
        self.types = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                      for value in graph.output if value.type.HasField("tensor_type")}  # fmt: skip

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        with tempfile.TemporaryDirectory(prefix="mopt-") as folder:
            base = Path(folder)
            (base / "model.onnx").write_bytes(self.model)
            np.savez(base / "in.npz", **{name: carry(np.asarray(value)) for name, value in inputs.items()})
            execute([COMPILER, "interpret", base / "model.onnx", "--inputs", base / "in.npz", "--outputs", base / "out.npz",
                     "--to", self.driver.phase], self.driver.timeout)  # fmt: skip
            with np.load(base / "out.npz") as results:
                out = {name: results[name] for name in results.files}
        return {name: value.view(self.types[name]) if carry(np.empty(0, self.types[name])).dtype == value.dtype else value
                for name, value in out.items()}  # fmt: skip
