"""Paths, running of commands, and the words in which ./dev talks. Python standard library only."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MOPT_BUILD") or ROOT / "build").resolve()
VENV = BUILD / "venv"
LLVM_BIN = Path("/usr/lib/llvm-22/bin")
JOBS = len(os.sched_getaffinity(0))


class Failure(Exception):
    """Something went wrong that the user can act on; the text says what and how."""


def say(text: str) -> None:
    print(f"\033[1m==\033[0m {text}" if sys.stdout.isatty() else f"== {text}", flush=True)


def venv_python() -> Path:
    return VENV / "bin" / "python"


def models_folder() -> Path:
    return Path(os.environ.get("MOPT_MODELS") or Path.home() / ".cache" / "mopt" / "models")


def environment(**more: str) -> dict[str, str]:
    """Of every program that ./dev starts: same results whatever the user's shell has set."""
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    env.update(
        CCACHE_BASEDIR=str(ROOT),
        CCACHE_SLOPPINESS="pch_defines,time_macros",
        CCACHE_NOHASHDIR="1",
        PYTHONDONTWRITEBYTECODE="1",
        MOPT_MODELS=str(models_folder()),
        MOPT_BUILD=str(BUILD),
    )
    env.update(more)
    return env


def run(
    command: Sequence[str | Path],
    what: str,
    timeout: float,
    *,
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    fail: bool = True,
) -> int:
    """Runs a command in a process group of its own and ends all of it at the timeout.

    Without `log` the output goes to the terminal. With `log` it goes to that file, a line shows that time passes, and
    the end of the file is printed when the command fails.
    """
    output = None
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = log.open("wb")
    sys.stdout.flush()
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            env=dict(env or environment()),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if log else None,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise Failure(f"{what}: {command[0]} is not installed; run ./dev setup") from error
    ticker = _Ticker(what, start) if log else None
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{what} took longer than {timeout:.0f} s and was ended") from error
    finally:
        if process.poll() is None:
            _end_group(process)
        if ticker:
            ticker.stop()
        if output:
            output.close()
    if code and log:
        print(tail(log, 60), flush=True)
    if code and fail:
        raise Failure(f"{what} failed with exit status {code}" + (f"; all of its output: {log}" if log else ""))
    return code


def _end_group(process: subprocess.Popen) -> None:
    for number in (15, 9):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def tail(path: Path, lines: int) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


class _Ticker:
    """After two seconds shows on a terminal what runs and for how long; elsewhere writes a line each minute."""

    def __init__(self, what: str, start: float) -> None:
        self.what, self.start, self.over = what, start, threading.Event()
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def _loop(self) -> None:
        terminal = sys.stdout.isatty()
        while not self.over.wait(2 if terminal else 60):
            seconds = time.monotonic() - self.start
            print(f"\r   {self.what}: {seconds:.0f} s " if terminal else f"   {self.what}: {seconds:.0f} s",
                  end="" if terminal else "\n", flush=True)  # fmt: skip

    def stop(self) -> None:
        self.over.set()
        self.thread.join()
        if sys.stdout.isatty() and time.monotonic() - self.start >= 2:
            print("\r\033[K", end="", flush=True)
