"""./dev build: configures and builds. Folders: build/release, and one a sanitizer."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from common import BUILD, JOBS, ROOT, environment, run, say, venv_python
from environment import site_packages

RELEASE = BUILD / "release"


def configure(folder: Path, *options: str) -> None:
    """Runs cmake when there is no build.ninja or the options changed; ninja itself sees changes in CMake files."""
    words = [
        "cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(folder),
        f"-DMOPT_ONNX_SRC={site_packages()}",
        f"-DPython3_EXECUTABLE={venv_python()}",
        *options,
    ]  # fmt: skip
    if shutil.which("ccache"):
        words += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    stamp, text = folder / "dev-configure.txt", "\n".join(words)
    if (folder / "build.ninja").exists() and stamp.is_file() and stamp.read_text() == text:
        return
    folder.mkdir(parents=True, exist_ok=True)
    run(words, f"configuring {folder.name}", 600, log=folder / "configure.log")
    stamp.write_text(text)


def ninja(folder: Path, *targets: str, timeout: float = 3600) -> None:
    run(["ninja", "-C", folder, f"-j{JOBS}", *targets], f"building {folder.name}", timeout, log=folder / "ninja.log",
        env=environment(NINJA_STATUS="[%f/%t %es] "))  # fmt: skip


def build(*targets: str) -> Path:
    """The release build with tools, tests and Python module."""
    start = time.monotonic()
    configure(RELEASE, "-DCMAKE_BUILD_TYPE=Release", "-DMOPT_BUILD_PYTHON=ON")
    ninja(RELEASE, *targets)
    seconds = time.monotonic() - start
    if seconds > 2:
        say(f"built in {seconds:.0f} s: {RELEASE / 'bin'}")
    return RELEASE


def build_sanitized(kind: str, sanitizers: str, *targets: str) -> Path:
    folder = BUILD / kind
    configure(folder, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1",
              "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g1", f"-DMOPT_SANITIZE={sanitizers}")  # fmt: skip
    ninja(folder, *targets)
    return folder
