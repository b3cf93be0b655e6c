"""IREE, compiled for this processor ahead of time. One thread runs in the caller (local-sync)."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import peer

IMPORT_SECONDS, COMPILE_SECONDS = 300, 900
OPSET = "17"  # its importer knows some operators, BatchNormalization among them, in their newer form only


def _execute(command: list[str | Path], timeout: float) -> None:
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, check=False)
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "rror" in line] or result.stderr.splitlines() or ["failed"]
        raise peer.Unsupported(f"{Path(command[0]).name}: {lines[0][:200]}")


def _fixed(work: peer.Work, path: Path) -> Path:
    """The model with the sizes of the inputs written into it; inner sizes are left for its importer to infer."""
    import onnx

    model = onnx.load(str(work.model))
    for entry in model.graph.input:
        if entry.name in work.inputs:
            for dim, size in zip(entry.type.tensor_type.shape.dim, work.inputs[entry.name].shape):
                dim.dim_value = size
    del model.graph.value_info[:]
    for entry in model.graph.output:
        entry.type.tensor_type.ClearField("shape")
    onnx.save(onnx.shape_inference.infer_shapes(model), str(path))
    return path


class Session(peer.Session):
    def __init__(self, function, values) -> None:
        def run():
            self.results = function(*values)

        self.run = run

    def outputs(self):
        results = self.results if isinstance(self.results, (tuple, list)) else [self.results]
        return [result.to_host() for result in results]


class Peer(peer.Peer):
    def start(self, threads: int) -> str:
        import iree.runtime

        self.library = iree.runtime
        if threads > 1:
            self.library.flags.parse_flags(f"--task_topology_group_count={threads}")
        return importlib.metadata.version("iree-base-runtime")

    def prepare(self, work, folder):
        tools = Path(sys.executable).parent
        model = _fixed(work, folder / "model.onnx") if work.static else work.model
        _execute([tools / "iree-import-onnx", model, "--opset-version", OPSET, "-o", folder / "model.mlir"],
                 IMPORT_SECONDS)  # fmt: skip
        _execute([tools / "iree-compile", folder / "model.mlir", "--iree-hal-target-device=local",
                  "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host",
                  "-o", folder / "model.vmfb"], COMPILE_SECONDS)  # fmt: skip
        (folder / "model.mlir").unlink()
        return [folder / "model.vmfb"]

    def load(self, files, threads, callers):
        self.config = self.library.Config("local-sync" if threads == 1 else "local-task")
        self.file = str(files[0])
        self.functions = [self._function()]

    def _function(self):
        context = self.library.SystemContext(config=self.config)
        module = self.library.VmModule.mmap(context.instance, self.file)
        context.add_vm_module(module)
        names = [name for name in module.function_names if "$" not in name and not name.startswith("_")]
        return context.modules[module.name][names[0]]

    def session(self, inputs):
        function = self.functions.pop() if self.functions else self._function()
        return Session(function, [self.library.asdevicearray(self.config.device, value) for value in inputs.values()])
