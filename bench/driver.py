"""Workers, turns and the rules by which times become figures. Knows no engine and prints nothing."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Pipe
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
REFERENCE = "onnxruntime"
SPREAD_LIMIT = 0.10  # middle half of the ratios over their median; above it there is no ratio
DIFFERENCE_LIMIT = 1e-2  # of an output over its largest value; above it the engine does something else
TOGETHER_LIMIT = 1.10  # two calibration loops at the same time over one alone; above it the cores are not both free
LEAST_ROUNDS = 3

Waiting = Callable[[str, float], None]  # what is waited for, for how many seconds already


class PeerError(Exception):
    """An engine failed or cannot do a case; `kind` is "unsupported", "slow" or "failed"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass
class Effort:
    """How much is measured."""

    rounds: int = 15
    turn_seconds: float = 0.1
    turn_runs: int = 1000
    caller_rounds: int = 5
    caller_seconds: float = 0.3
    case_seconds: float = 90  # after it only LEAST_ROUNDS are completed
    answer_seconds: float = 1200  # for one command of a worker


QUICK = Effort(rounds=7, turn_seconds=0.04, caller_rounds=3, caller_seconds=0.2, case_seconds=15)


class Worker:
    """One process. Stopped (SIGSTOP) whenever it has nothing to do."""

    def __init__(
        self, name: str, path: Path, log: Path, effort: Effort, waiting: Waiting = lambda what, seconds: None
    ) -> None:
        self.name, self.log, self.effort, self.waiting = name, log, effort, waiting
        self.connection, child = Pipe()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            # In a session of its own, so that Ctrl-C reaches the driver alone, which then ends the workers.
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "worker.py"), str(path), str(child.fileno())],
                pass_fds=[child.fileno()], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        child.close()

    def send(self, command: str, *arguments) -> None:
        with suppress(BrokenPipeError):  # receive says how the process ended
            self.process.send_signal(signal.SIGCONT)
            self.connection.send((command, arguments))

    def receive(self, what: str = ""):
        begin = time.monotonic()
        try:
            while not self.connection.poll(0.5):
                seconds = time.monotonic() - begin
                self.waiting(f"{self.name}: {what}", seconds)
                if seconds > self.effort.answer_seconds:
                    self.end()
                    raise PeerError("failed", f"no answer in {seconds:.0f} s")
            kind, value = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.wait()
            raise PeerError("failed", f"its process ended with {self.process.returncode}{self._last_words()}") from None
        self.process.send_signal(signal.SIGSTOP)
        if kind != "value":
            raise PeerError("failed" if kind == "error" else kind, value)
        return value

    def ask(self, command: str, *arguments):
        self.send(command, *arguments)
        return self.receive(command)

    def _last_words(self) -> str:
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return f": {lines[-1][:200]}" if lines else ""

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # with what it started, a compiler for example
        self.process.wait()
        self.connection.close()


# ---- Rules ----


def verdict_of(ratios: Sequence[float], throttled: bool = False) -> dict:
    """{"verdict", "ratio", "spread"}: the median of the ratios of neighbouring turns, or why there is none."""
    ratio = statistics.median(ratios)
    spread = None
    if len(ratios) >= LEAST_ROUNDS:
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        spread = (high - low) / ratio
    verdict = "throttled" if throttled else "noisy" if spread is None or spread > SPREAD_LIMIT else "ok"
    return {"verdict": verdict, "ratio": ratio if verdict == "ok" else None, "spread": spread}


def difference_of(expected: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> dict:
    """Largest difference of any output: absolute, and over the largest value of the output that is expected."""
    if len(expected) != len(found):
        return {"text": f"{len(found)} outputs, expected {len(expected)}", "absolute": None, "relative": None}
    absolute = relative = 0.0
    for index, (right, value) in enumerate(zip(expected, found)):
        if right.size != value.size or _squeezed(right.shape) != _squeezed(value.shape):
            text = f"output {index} has shape {list(value.shape)}, expected {list(right.shape)}"
            return {"text": text, "absolute": None, "relative": None}
        if not right.size:
            continue
        right, value = right.astype(np.float64).ravel(), value.astype(np.float64).ravel()
        with np.errstate(invalid="ignore"):
            gaps = np.abs(right - value)
        gaps = np.where((right == value) | (np.isnan(right) & np.isnan(value)), 0.0, gaps)
        gap = float(np.max(np.where(np.isnan(gaps), np.inf, gaps)))
        finite = np.abs(right[np.isfinite(right)])
        scale = max(float(finite.max()) if finite.size else 0.0, 1e-30)
        absolute, relative = max(absolute, gap), max(relative, gap / scale)
    return {"text": "", "absolute": absolute, "relative": relative}


def _squeezed(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def summary_of(times_ns: Sequence[float]) -> dict:
    return {
        "runs": len(times_ns),
        "median_us": statistics.median(times_ns) / 1000,
        "p10_us": float(np.percentile(times_ns, 10)) / 1000,
    }


def rotated(items: Sequence, step: int) -> list:
    """Each starts a round as often as the others, and meets each neighbour."""
    if not items:
        return []
    shift = step % len(items)
    turned = [*items[shift:], *items[:shift]]
    return turned if (step // len(items)) % 2 == 0 else turned[::-1]


# ---- Measurements ----


@dataclass
class Contest:
    """All peers on one case, one number of threads, one number of callers."""

    effort: Effort
    workers: dict[str, Worker] = field(default_factory=dict)
    results: dict[str, dict] = field(default_factory=dict)  # also of peers that failed

    def drop(self, name: str, error: PeerError) -> None:
        self.results.setdefault(name, {}).update({"verdict": error.kind, "reason": str(error), "ratio": None})
        self.workers.pop(name).end()

    def each(self, order: Sequence[str], do: Callable[[str, Worker], None]) -> None:
        for name in order:
            if name in self.workers:
                try:
                    do(name, self.workers[name])
                except PeerError as error:
                    self.drop(name, error)

    def load(self, peers: Mapping[str, list[Path]], make: Callable[[str], Worker], inputs: Mapping[str, np.ndarray],
             threads: int, callers: int, cores: list[int]) -> None:  # fmt: skip
        for name in peers:
            self.workers[name] = make(name)

        def load(name: str, worker: Worker) -> None:
            self.results[name] = worker.ask("start", threads, cores)
            self.results[name] |= worker.ask("load", peers[name], inputs, threads, callers)

        self.each(list(self.workers), load)

    def interleave(self, rounds: int, turn: Callable[[str, Worker], float], progress: Callable[[int], None]) -> dict:
        """Peers take turns; `turn` returns a time or a rate. Returns what each got in the rounds that all of those that
        are left have done."""
        rows: dict[str, list[float]] = {name: [] for name in self.workers}
        begin = time.monotonic()
        for index in range(rounds):
            if index >= LEAST_ROUNDS and time.monotonic() - begin > self.effort.case_seconds:
                break
            progress(index)
            self.each(rotated(list(rows), index), lambda name, worker: rows[name].append(turn(name, worker)))
        return {name: row for name, row in rows.items() if name in self.workers}

    def run(self, throttled: Callable[[], bool], progress: Callable[[int], None] = lambda index: None) -> dict[str, dict]:
        times: dict[str, list[int]] = {name: [] for name in self.workers}

        def turn(name: str, worker: Worker) -> float:
            found = worker.ask("turn", self.effort.turn_seconds, self.effort.turn_runs)
            times[name] += found
            return statistics.median(found)

        speeds = {
            name: [1e9 / value for value in row] for name, row in self.interleave(self.effort.rounds, turn, progress).items()
        }
        self.finish(speeds, throttled())
        for name in self.workers:
            self.results[name] |= summary_of(times[name])
            self.results[name]["turn_medians_us"] = [1e6 / value for value in speeds[name]]
        return self.results

    def run_callers(self, throttled: Callable[[], bool], progress: Callable[[int], None] = lambda index: None) -> dict:
        times: dict[str, list[int]] = {name: [] for name in self.workers}

        def turn(name: str, worker: Worker) -> float:
            found = worker.ask("callers", self.effort.caller_seconds)
            times[name] += found["times"]
            return len(found["times"]) / (found["wall_ns"] / 1e9)

        rates = self.interleave(self.effort.caller_rounds, turn, progress)
        self.finish(rates, throttled())
        for name in self.workers:
            self.results[name] |= {"runs": len(times[name]), "qps": statistics.median(rates[name]), "turn_qps": rates[name],
                                   "p50_us": float(np.percentile(times[name], 50)) / 1000,
                                   "p99_us": float(np.percentile(times[name], 99)) / 1000}  # fmt: skip
        return self.results

    def finish(self, speeds: Mapping[str, list[float]], hot: bool) -> None:
        """Memory, outputs and the verdict; `speeds` has one number a round, more is faster."""
        outputs: dict[str, list[np.ndarray]] = {}

        def ask(name: str, worker: Worker) -> None:
            self.results[name]["memory"] = worker.ask("memory")
            outputs[name] = worker.ask("outputs")

        self.each(list(self.workers), ask)
        limit = next((name for name in self.workers if self.results[name].get("limit")), None)
        for name in self.workers:
            row = self.results[name]
            if limit and name != limit:
                row["of_limit"] = statistics.median(own / most for most, own in zip(speeds[limit], speeds[name]))
            if REFERENCE not in self.workers:
                row |= {"verdict": f"no {REFERENCE}", "ratio": None}
                continue
            row |= verdict_of([own / right for right, own in zip(speeds[REFERENCE], speeds[name])], hot)
            if name == limit:
                continue
            row["difference"] = difference_of(outputs[REFERENCE], outputs[name])
            relative = row["difference"]["relative"]
            if relative is None or relative > DIFFERENCE_LIMIT:
                row |= {"verdict": "differs", "ratio": None}

    def end(self) -> None:
        for worker in self.workers.values():
            worker.end()
        self.workers.clear()


def prepare(peers: Sequence[str], make: Callable[[str], Worker], work, folder: Path, cores: list[int]) -> dict[str, dict]:
    """Each engine's ahead-of-time part, in a process that ends afterwards, so that its memory is not counted."""
    results = {}
    for name in peers:
        target = folder / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        worker = make(name)
        try:
            worker.ask("start", 1, cores)
            results[name] = {"verdict": "ok", **worker.ask("prepare", work, target)}
        except PeerError as error:
            results[name] = {"verdict": error.kind, "reason": str(error), "ratio": None}
        finally:
            worker.end()
    return results
