"""Compiles models for Hexagon, links them with the host in hexagon/, and runs them under QEMU."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from drivers import RELEASE, ROOT, execute

TRIPLE = "hexagon-unknown-none-elf"
EMULATOR = shutil.which("qemu-hexagon-static") or shutil.which("qemu-hexagon")
HOST = ROOT / "test/targets/hexagon"


@dataclass
class Step:
    """One line of the host."""

    name: str
    chunks: int
    macs: int
    packets: int
    instructions: int
    hvx: int


def compile_c(source: Path, folder: Path) -> Path:
    out = folder / f"{source.stem}.o"
    execute(["clang-22", "-target", TRIPLE, "-mv66", "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-ffreestanding",
             "-fno-builtin", f"-I{ROOT}/include", f"-I{HOST}", "-c", source, "-o", out], 60)  # fmt: skip
    return out


def build_host(folder: Path) -> list[Path]:
    return [compile_c(source, folder) for source in sorted(HOST.glob("*.c"))]


def compile_model(model: Path, out: Path, *options: str) -> Path:
    execute([RELEASE / "bin/mopt", "compile", model, "-o", out, "--quiet", "--triple", TRIPLE, *options], 300)
    return out


def link(compiled: Path, host: list[Path], out: Path) -> Path:
    # QEMU maps segments in pages of 64 KiB.
    execute(["ld.lld-22", "-static", "-m", "hexagonelf", "--image-base=0x10000", "-z", "max-page-size=65536", compiled, *host,
             "-o", out], 60)  # fmt: skip
    return out


def run(program: Path, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, tuple[str, tuple[int, ...]]], folder: Path,
        *options: str) -> tuple[dict[str, np.ndarray], list[Step]]:  # fmt: skip
    """`outputs`: type and shape by name. Inputs and outputs in the order of the model."""
    files = [folder / f"in{i}.bin" for i in range(len(inputs))]
    for file, array in zip(files, inputs.values()):
        file.write_bytes(np.ascontiguousarray(array).tobytes())
    results = [folder / f"out{i}.bin" for i in range(len(outputs))]
    text = execute([EMULATOR, program, *options, *files, *results], 120)
    steps = []
    for line in text.splitlines():
        name, numbers = line.split(" ", 1)
        steps.append(Step(name, **{key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", numbers)}))
    arrays = {
        name: np.frombuffer(file.read_bytes(), dtype).reshape(shape)
        for file, (name, (dtype, shape)) in zip(results, outputs.items())
    }
    return arrays, steps
