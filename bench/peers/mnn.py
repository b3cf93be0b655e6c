"""MNN through its Module interface, in float32."""

from __future__ import annotations

import numpy as np
import peer


class Session(peer.Session):
    def __init__(self, library, module, inputs) -> None:
        self.library = library
        expr = library.expr
        types = {np.dtype(np.float32): expr.float, np.dtype(np.int32): expr.int, np.dtype(np.uint8): expr.uint8}
        values = []
        for value in inputs.values():
            if value.dtype == np.int64:  # it has no 64 bit integers and reads such inputs as 32 bit
                value = value.astype(np.int32)
            if value.dtype not in types:
                raise peer.Unsupported(f"no inputs of type {value.dtype}")
            values.append(expr.const(value, list(value.shape), expr.NCHW, types[value.dtype]))

        def run():
            self.results = module.forward(values)

        self.run = run

    def outputs(self):
        # A copy by value first: converting a result in place would change what the next run meets.
        return [np.array(self.library.expr.convert(value, self.library.expr.NCHW).read()) for value in self.results]


class Peer(peer.Peer):
    note = "plans for each shape when it first meets it"

    def start(self, threads: int) -> str:
        import MNN

        self.library = MNN
        return MNN.version()

    def prepare(self, work, folder):
        # The function behind the command mnnconvert: the command itself also reports each conversion to a server and
        # installs a package for that.
        import _tools

        target = folder / "model.mnn"
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", str(work.model), "--MNNModel", str(target),
                           "--bizCode", "bench"])  # fmt: skip
        if not target.is_file():
            raise peer.Unsupported("its converter wrote no model")
        return [target]

    def load(self, files, threads, callers):
        self.file, self.threads = str(files[0]), threads
        self.modules = [self._module()]

    def _module(self):
        nn = self.library.nn
        runtime = nn.create_runtime_manager(({"precision": "high", "backend": "CPU", "numThread": self.threads},))
        # Without names it takes the model's own, in the model's order.
        return nn.load_module_from_file(self.file, [], [], runtime_manager=runtime), runtime

    def session(self, inputs):
        module, runtime = self.modules.pop() if self.modules else self._module()
        session = Session(self.library, module, inputs)
        session.kept = runtime
        return session
