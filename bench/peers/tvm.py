"""Apache TVM (Relax), compiled for this processor with its default pipeline: nothing is tuned."""

from __future__ import annotations

import os

import numpy as np
import peer


class Session(peer.Session):
    def __init__(self, library, function, inputs) -> None:
        values = [library.runtime.tensor(value) for value in inputs.values()]

        def run():
            self.results = function(*values)

        self.run = run

    def outputs(self):
        results = [self.results] if hasattr(self.results, "numpy") else list(self.results)
        return [np.array(result.numpy()) for result in results]


class Peer(peer.Peer):
    note = "not tuned; always compiled for the sizes of the inputs"

    def start(self, threads: int) -> str:
        os.environ["TVM_NUM_THREADS"] = str(threads)
        import tvm

        self.library = tvm
        return tvm.__version__

    def prepare(self, work, folder):
        import onnx
        from tvm.relax.frontend.onnx import from_onnx

        shapes = {name: list(value.shape) for name, value in work.inputs.items()}
        try:
            module = from_onnx(onnx.load(str(work.model)), shape_dict=shapes, keep_params_in_input=False)
            target = self.library.target.Target({"kind": "llvm", "mcpu": _processor(self.library)})
            self.library.compile(module, target=target).export_library(str(folder / "model.so"))
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            raise peer.Unsupported(f"{type(error).__name__}: {lines[-1][:200]}") from error
        return [folder / "model.so"]

    def load(self, files, threads, callers):
        from tvm import relax

        self.executable, self.relax = self.library.runtime.load_module(str(files[0])), relax
        self.functions = [self._function()]

    def _function(self):
        return self.relax.VirtualMachine(self.executable, self.library.cpu())["main"]

    def session(self, inputs):
        return Session(self.library, self.functions.pop() if self.functions else self._function(), inputs)


def _processor(tvm) -> str:
    return tvm.get_global_func("target.llvm_get_system_cpu")()
