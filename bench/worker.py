"""The process of one engine: takes commands from a connection and answers each with a value or an error.

Started by driver.Worker as `worker.py PEER-FILE DESCRIPTOR`. Between commands the driver stops this process, so that
threads of an engine that wait actively do not take time from the others.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peer import Unsupported

ALIGNMENT = 64
SLOW_SECONDS = 5  # with several callers; all of them together would take minutes
PR_SET_PDEATHSIG = 1


class Slow(Exception):
    """Measuring this would take too long."""


def aligned(value: np.ndarray) -> np.ndarray:
    """A copy at an address from which every engine can read without a copy of its own."""
    space = np.empty(value.nbytes + ALIGNMENT, np.uint8)
    begin = -space.ctypes.data % ALIGNMENT
    result = space[begin : begin + value.nbytes].view(value.dtype).reshape(value.shape)
    result[...] = value
    return result


def anonymous_and_peak() -> tuple[int, int]:
    """RssAnon and VmHWM of this process in bytes."""
    found = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in ("RssAnon", "VmHWM"):
            found[name] = int(rest.split()[0]) * 1024
    return found["RssAnon"], found["VmHWM"]


def timed(run, seconds: float, limit: int) -> list[int]:
    """Nanoseconds of each run until `seconds` are over or `limit` are done; at least one."""
    times, end, clock = [], time.perf_counter_ns() + int(seconds * 1e9), time.perf_counter_ns
    while True:
        begin = clock()
        run()
        after = clock()
        times.append(after - begin)
        if after >= end or len(times) >= limit:
            return times


class Worker:
    """Its public functions are the commands."""

    def __init__(self, path: str) -> None:
        spec = importlib.util.spec_from_file_location(f"peer_{Path(path).stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.peer, self.sessions = module.Peer(), []

    def start(self, threads: int, cores: list[int]) -> dict:
        os.sched_setaffinity(0, cores)
        self.before = anonymous_and_peak()[0]
        return {"version": self.peer.start(threads), "note": self.peer.note, "limit": self.peer.limit}

    def prepare(self, work, folder: Path) -> dict:
        begin = time.perf_counter()
        files = self.peer.prepare(work, folder)
        seconds = time.perf_counter() - begin
        return {"files": files, "bytes": sum(file.stat().st_size for file in files), "seconds": seconds}

    def load(self, files, inputs, threads: int, callers: int) -> dict:
        """Loads, makes a session for each caller and runs each once."""
        # Kept: several engines read from these addresses and hold no reference of their own.
        self.inputs = inputs = {name: aligned(value) for name, value in inputs.items()}
        begin = time.perf_counter_ns()
        self.peer.load(files, threads, callers)
        self.sessions = [self.peer.session(inputs)]
        loaded = time.perf_counter_ns()
        self.sessions[0].run()
        first = time.perf_counter_ns()
        self.last = first - loaded
        if callers > 1 and self.last > SLOW_SECONDS * 1e9:
            raise Slow(f"one run takes {self.last / 1e9:.1f} s")
        for _ in range(1, callers):
            self.sessions.append(self.peer.session(inputs))
            self.sessions[-1].run()
        gc.collect()
        gc.disable()
        return {"load_ns": loaded - begin, "first_run_ns": first - loaded}

    def turn(self, seconds: float, limit: int) -> list[int]:
        """One run that does not count where it is cheap: the others' turns have taken the caches."""
        run = self.sessions[0].run
        if self.last < seconds * 1e9 / 4:
            run()
        times = timed(run, seconds, limit)
        self.last = times[-1]
        return times

    def callers(self, seconds: float) -> dict:
        """All sessions at the same time, each on a thread of its own."""
        barrier, times, errors = threading.Barrier(len(self.sessions) + 1), [[] for _ in self.sessions], []

        def body(index: int) -> None:
            barrier.wait()
            try:
                times[index] = timed(self.sessions[index].run, seconds, 1 << 30)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=body, args=(index,)) for index in range(len(self.sessions))]
        for thread in threads:
            thread.start()
        barrier.wait()
        begin = time.perf_counter_ns()
        for thread in threads:
            thread.join()
        wall = time.perf_counter_ns() - begin
        if errors:
            raise errors[0]
        return {"times": [value for row in times for value in row], "wall_ns": wall}

    def outputs(self) -> list[np.ndarray]:
        return [np.array(value) for value in self.sessions[0].outputs()]

    def memory(self) -> dict:
        """`anonymous`: what came with importing the engine, loading and running; without Python and numpy."""
        anonymous, peak = anonymous_and_peak()
        return {"anonymous": anonymous - self.before, "process_anonymous": anonymous, "process_peak": peak}


class Calibration:
    """A worker without an engine, for machine.Calibrator."""

    def __init__(self, path: str) -> None:
        self.function = ctypes.CDLL(path).mopt_bench_fma
        self.function.restype, self.function.argtypes = ctypes.c_int64, [ctypes.c_int64]

    def pin(self, cores: list[int]) -> None:
        os.sched_setaffinity(0, cores)

    def fma(self, rounds: int) -> int:
        return self.function(rounds)


def main() -> None:
    # A stopped process would outlive a driver that was killed.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    path, connection = sys.argv[1], Connection(int(sys.argv[2]))
    worker = None
    while True:
        try:
            name, arguments = connection.recv()
        except EOFError:
            return
        try:
            if worker is None:
                worker = Calibration(path) if path.endswith(".so") else Worker(path)
            answer = ("value", getattr(worker, name)(*arguments))
        except Unsupported as error:
            answer = ("unsupported", str(error))
        except Slow as error:
            answer = ("slow", str(error))
        except Exception as error:
            answer = ("error", f"{type(error).__name__}: {error}"[:500])
        connection.send(answer)


if __name__ == "__main__":
    main()
