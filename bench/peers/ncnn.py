"""ncnn in float32, converted by pnnx."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import peer

CONVERT_SECONDS = 300
SUFFIXES = {"float32": "f32", "int64": "i64", "int32": "i32"}


class Session(peer.Session):
    def __init__(self, library, net, inputs) -> None:
        # pnnx takes the batch axis away, and names inputs and outputs by number.
        values = [library.Mat(np.ascontiguousarray(value[0])) for value in inputs.values()]
        names = net.output_names()

        def run():
            extractor = net.create_extractor()
            for index, value in enumerate(values):
                extractor.input(f"in{index}", value)
            self.results = []
            for name in names:
                code, result = extractor.extract(name)
                if code:
                    raise RuntimeError(f"ncnn: extracting {name} failed with {code}")
                self.results.append(result)

        self.run = run

    def outputs(self):
        return [np.array(result)[None] for result in self.results]


class Peer(peer.Peer):
    note = "one row at a time and fixed sizes only"

    def start(self, threads: int) -> str:
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import ncnn

        self.library = ncnn
        return ncnn.__version__

    def prepare(self, work, folder):
        if any(value.shape[0] != 1 for value in work.inputs.values()):
            raise peer.Unsupported("more than one row")
        if any(str(value.dtype) not in SUFFIXES for value in work.inputs.values()):
            raise peer.Unsupported("an input type that its converter does not know")
        # The program inside the package: its Python wrapper needs PyTorch.
        program = Path(importlib.util.find_spec("pnnx").origin).parent / "pnnx"
        shapes = ",".join(
            f"[{','.join(str(size) for size in value.shape)}]{SUFFIXES[str(value.dtype)]}" for value in work.inputs.values()
        )
        shutil.copy(work.model, folder / "model.onnx")  # it writes beside its input
        result = subprocess.run([program, "model.onnx", f"inputshape={shapes}", "fp16=0"], cwd=folder, capture_output=True,
                                text=True, timeout=CONVERT_SECONDS, check=False)  # fmt: skip
        files = [folder / "model.ncnn.param", folder / "model.ncnn.bin"]
        if result.returncode or not all(file.is_file() for file in files):
            raise peer.Unsupported(f"pnnx failed with {result.returncode}")
        foreign = {line.split()[0] for line in files[0].read_text().splitlines()[2:] if "." in line.split()[0]}
        if foreign:  # operators that pnnx passed on as they were: ncnn has no such layer and would crash
            raise peer.Unsupported(f"no layer for {', '.join(sorted(foreign))}")
        return files

    def load(self, files, threads, callers):
        net = self.library.Net()
        net.opt.num_threads = threads
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        net.opt.use_bf16_storage = False
        if net.load_param(str(files[0])) or net.load_model(str(files[1])):
            raise peer.Unsupported("it does not load what pnnx wrote")
        self.engine = net

    def session(self, inputs):
        return Session(self.library, self.engine, inputs)
