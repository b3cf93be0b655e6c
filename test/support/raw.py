"""Builds and drives test/e2e/raw_run.c, for this machine or another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from drivers import RELEASE, ROOT, execute

AARCH64 = "aarch64-linux-gnu"
EMULATOR = Path("/usr/bin/qemu-aarch64")
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float64": 11}


def build_native(folder: Path) -> list[Path]:
    program = folder / "raw_run"
    execute(["clang-22", "-O1", "-g", f"-I{ROOT}/include", ROOT / "test/e2e/raw_run.c",
             RELEASE / "lib/Runtime/libmopt_rt.a", "-lpthread", "-ldl", "-o", program], 120)  # fmt: skip
    return [program]


def aarch64_is_possible() -> bool:
    """Whether Debian's cross C library and the emulator are installed."""
    return EMULATOR.is_file() and (Path("/usr") / AARCH64 / "include/stdio.h").is_file()


def build_aarch64(folder: Path) -> list[Path]:
    """The runtime from its sources with Debian's cross C library, and the emulator before it."""
    program, sysroot = folder / "raw_run", Path("/usr") / AARCH64
    execute(["clang-22", f"--target={AARCH64}", "-fuse-ld=lld", "-O1", "-std=c11", "-D_POSIX_C_SOURCE=200809L",
             "-D_DEFAULT_SOURCE", f"-I{ROOT}/include", "-isystem", sysroot / "include", "-idirafter", "/usr/include",
             ROOT / "test/e2e/raw_run.c", *sorted((ROOT / "lib/Runtime").glob("*.c")), "-lpthread", "-ldl",
             "-o", program], 300)  # fmt: skip
    return [EMULATOR, Path("-L"), sysroot, program]


def run(
    prefix: Sequence[Path],
    artifact: Path,
    inputs: Mapping[str, np.ndarray],
    folder: Path,
    *,
    threads: int = 1,
    repeats: int = 1,
    timeout: float = 600,
) -> dict[str, np.ndarray]:
    words: list = [*prefix, artifact, folder, threads, repeats]
    for index, (name, array) in enumerate(inputs.items()):
        path = folder / f"in{index}.bin"
        path.write_bytes(np.ascontiguousarray(array).tobytes())
        words += [name, TYPES[array.dtype.name], "x".join(str(size) for size in array.shape), path]
    names = {number: name for name, number in TYPES.items()}
    results = {}
    for line in execute(words, timeout).splitlines():
        index, name, dtype, dims = line.split(" ") if line.count(" ") == 3 else (*line.split(" ", 2), "")
        shape = [int(size) for size in dims.split("x") if size]
        results[name] = np.frombuffer((folder / f"{index}.bin").read_bytes(), names[int(dtype)]).reshape(shape)
    return results
