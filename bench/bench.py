"""mopt and onnxruntime on the same models, inputs and threads, in turns.

Each engine runs in a process of its own, so that neither meets the other's threads or allocator; the two take turns of
a fraction of a second, so that a change of the machine's speed meets both. The ratio is the median of the ratios of
neighbouring turns. Where these spread, or a fixed piece of work took different times, it says `noisy` instead.

example: ./dev bench magika minilm --threads 1,2 --json bench.json
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "test" / "support"))

import models

TURNS, TURN_SECONDS = 9, 0.3
SPREAD_LIMIT = 0.10  # of the middle half of the ratios


def _mopt(path: str, threads: int):
    import mopt

    model = mopt.compile(path, threads=threads)
    return lambda inputs: model.run(inputs)


def _onnxruntime(path: str, threads: int):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


ENGINES = {"mopt": _mopt, "onnxruntime": _onnxruntime}


def serve(engine: str, path: str, threads: int, connection) -> None:
    """Answers (inputs, seconds) with the times of the runs in microseconds and the peak memory in MB."""
    import resource

    begin = time.perf_counter()
    try:
        run = ENGINES[engine](path, threads)
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")
        return
    connection.send(time.perf_counter() - begin)
    while (task := connection.recv()) is not None:
        inputs, seconds = task
        times, end = [], time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start = time.perf_counter_ns()
            run(inputs)
            times.append((time.perf_counter_ns() - start) / 1000)
        connection.send((times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


class Engine:
    def __init__(self, name: str, path: Path, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.name, (self.connection, child) = name, context.Pipe()
        self.process = context.Process(target=serve, args=(name, str(path), threads, child), daemon=True)
        self.process.start()
        child.close()
        ready = self.receive(300)
        if isinstance(ready, str):
            raise RuntimeError(f"{name}: {ready}")
        self.start_seconds, self.times, self.memory = ready, [], 0.0

    def receive(self, timeout: float):
        try:
            if self.connection.poll(timeout):
                return self.connection.recv()
        except EOFError:
            raise RuntimeError(f"{self.name}: its process ended with {self.process.exitcode}") from None
        raise RuntimeError(f"{self.name}: no answer in {timeout:.0f} s")

    def turn(self, inputs: dict[str, np.ndarray], seconds: float) -> float:
        self.connection.send((inputs, seconds))
        times, self.memory = self.receive(120)
        self.times += times
        return statistics.median(times)

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def fixed_work() -> float:
    begin = time.perf_counter()
    total = 0
    for i in range(200_000):
        total += i * i
    return time.perf_counter() - begin


def measure(name: str, threads: int, inputs: dict[str, np.ndarray]) -> dict:
    engines = []
    try:
        engines = [Engine(engine, models.path_of(name), threads) for engine in ENGINES]
        for engine in engines:
            engine.turn(inputs, TURN_SECONDS)  # warm
            engine.times.clear()
        ratios, work = [], [fixed_work()]
        for index in range(TURNS):
            order = engines if index % 2 == 0 else engines[::-1]
            medians = {engine.name: engine.turn(inputs, TURN_SECONDS) for engine in order}
            ratios.append(medians["onnxruntime"] / medians["mopt"])
            work.append(fixed_work())
    finally:
        for engine in engines:
            engine.end()
    low, _, high = statistics.quantiles(ratios, n=4)
    ratio = statistics.median(ratios)
    steady = (high - low) / ratio <= SPREAD_LIMIT and max(work) / min(work) <= 1.25
    return {
        "model": name,
        "shapes": {key: list(value.shape) for key, value in inputs.items()},
        "threads": threads,
        "verdict": "ok" if steady else "noisy",
        "speedup": round(ratio, 3) if steady else None,
        "ratios": [round(value, 3) for value in ratios],
        "engines": {
            engine.name: {
                "runs": len(engine.times),
                "median_us": round(statistics.median(engine.times), 1),
                "p10_us": round(float(np.percentile(engine.times, 10)), 1),
                "start_ms": round(engine.start_seconds * 1000, 1),
                "process_mb": round(engine.memory, 1),
            }
            for engine in engines
        },
    }


def print_row(row: dict) -> None:
    ours, theirs = row["engines"]["mopt"], row["engines"]["onnxruntime"]
    shape = "x".join(str(size) for size in next(iter(row["shapes"].values())))
    speedup = f"{row['speedup']:.2f}" if row["speedup"] else row["verdict"]
    print(f"{row['model']:20} {shape:>14} {row['threads']:3} {ours['median_us']:11.1f} {ours['p10_us']:11.1f} "
          f"{theirs['median_us']:11.1f} {theirs['p10_us']:11.1f} {speedup:>8} {ours['process_mb']:7.0f} {theirs['process_mb']:7.0f}",
          flush=True)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__.split("\n\n")[0], epilog=__doc__.splitlines()[-1]
    )
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"default: those that are at hand of {' '.join(models.SHAPES)}"
    )
    parser.add_argument("--threads", default="1", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    options = parser.parse_args()
    unknown = [name for name in options.models if name not in models.SHAPES]
    if unknown:
        parser.error(f"there is no model {unknown[0]}")
    names = options.models or [name for name in models.SHAPES if models.path_of(name).is_file()]
    print(f"{'':39}{'mopt us':>12}{'':12}{'onnxruntime us':>24}{'':9}{'MB':>8}")
    print(
        f"{'model':20} {'shape':>14} {'thr':>3} {'median':>11} {'p10':>11} {'median':>11} {'p10':>11} {'speedup':>8} {'mopt':>7} {'ort':>7}"
    )
    rows, failed = [], False
    for name in names:
        sets = models.inputs_of(name)
        for threads in (int(count) for count in options.threads.split(",")):
            for inputs in (sets[0], sets[-1]):
                try:
                    rows.append(measure(name, threads, inputs))
                    print_row(rows[-1])
                except RuntimeError as error:
                    failed = True
                    print(f"{name:20} {error}", flush=True)
    print("speedup: onnxruntime's time divided by mopt's, so more than 1 means that mopt is faster. Memory is of the whole "
          "process,\nwith Python; mopt's includes the compiler.")  # fmt: skip
    if options.json:
        machine = {"processor": platform.processor() or platform.machine(), "processors": len(os.sched_getaffinity(0)),
                   "load": os.getloadavg()[0]}  # fmt: skip
        options.json.write_text(json.dumps({"format": 1, "machine": machine, "rows": rows}, indent=2) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
