"""./dev format: clang-format 22 for C, C++ and TableGen-free headers, ruff for Python. Generated files are not ours."""

from __future__ import annotations

import subprocess
from pathlib import Path

from common import LLVM_BIN, ROOT, VENV, Failure, environment, run

C_FAMILY = {".c", ".cpp", ".h"}


def _files() -> tuple[list[str], list[str]]:
    """Files that git tracks or would track, so that build output and other clutter are left alone."""
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    paths = sorted({path for path in listing.stdout.splitlines() if (ROOT / path).is_file()})
    return [p for p in paths if Path(p).suffix in C_FAMILY], [p for p in paths if p.endswith(".py")]


def _commands(check: bool) -> list[list[str | Path]]:
    c_files, python_files = _files()
    ruff = VENV / "bin" / "ruff"
    return [
        [LLVM_BIN / "clang-format", *(["--dry-run", "-Werror"] if check else ["-i"]), *c_files],
        [ruff, "format", "--no-cache", "--quiet", *(["--check"] if check else []), *python_files],
        [ruff, "check", "--no-cache", "--quiet", *([] if check else ["--fix"]), *python_files],
    ]


def format_all() -> None:
    for command in _commands(check=False):
        run(command, Path(command[0]).name, 300)


def check_format() -> list[str]:
    """Names of the files that are not as the tools would write them."""
    wrong = set()
    for command in _commands(check=True):
        result = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment(), capture_output=True,
                                text=True, timeout=300, check=False)  # fmt: skip
        if result.returncode == 0:
            continue
        named = {word for word in command if any(f"{word}" in line for line in (result.stdout + result.stderr).splitlines())}
        wrong |= {str(word) for word in named if (ROOT / str(word)).is_file() and not Path(str(word)).is_absolute()}
        if not named:
            raise Failure(f"{Path(command[0]).name} failed: {result.stderr.strip()[:500]}")
    return sorted(wrong)
