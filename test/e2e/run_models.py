"""Compiles the real models and holds them against onnxruntime: shapes, threads, CPUs, and bits that must not change.

example: python test/e2e/run_models.py --models magika --cpus native
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE.parent / "support"), str(ROOT / "tools" / "dev")]

import junit
import models
import numpy as np
from compare import difference, magnitude
from drivers import Broken, CliDriver, Refused

RTOL, ATOL = 1e-3, 1e-4  # ATOL times the magnitude of the output
COMPILE_SECONDS = 20


class Checks:
    def __init__(self) -> None:
        self.results: list[tuple[str, str, str]] = []

    def add(self, name: str, wrong: str) -> None:
        self.results.append((name, "failed" if wrong else "ok", wrong))
        if wrong:
            print(f"  WRONG {name}: {wrong}", flush=True)


def reference(path: Path, sets: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(names, inputs))) for inputs in sets]


def compare(expected: dict[str, np.ndarray], actual: dict[str, np.ndarray]) -> str:
    for name, value in expected.items():
        if name not in actual:
            return f"output {name} is missing"
        wrong = difference(value, actual[name], RTOL, ATOL * magnitude(value))
        if wrong:
            return f"output {name}: {wrong}"
    return ""


def same_bits(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> str:
    for name, value in a.items():
        if value.dtype != b[name].dtype or value.shape != b[name].shape:
            return f"output {name}: another type or shape"
        if value.tobytes() != b[name].tobytes():
            return f"output {name}: {int((value != b[name]).sum())} of {value.size} elements have other bits"
    return ""


def processor_seconds() -> float:
    """Of all commands so far. Other load on the machine does not count, so that it fails no test."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def check_model(checks: Checks, driver: CliDriver, name: str, cpus: list[str], threads: list[int]) -> None:
    path = models.path_of(name)
    sets = models.inputs_of(name)
    expected = reference(path, sets)
    for cpu in cpus:
        begin = processor_seconds()
        try:
            model = driver.compile(path, cpu="" if cpu == "native" else cpu)
        except (Refused, Broken) as error:
            checks.add(f"{name} {cpu} compile", str(error))
            continue
        seconds = processor_seconds() - begin
        print(
            f"{name} {cpu}: compiled in {seconds:.1f} s of processor time, {model.path.stat().st_size / 1e6:.2f} MB",
            flush=True,
        )
        checks.add(f"{name} {cpu} compile", "" if seconds <= COMPILE_SECONDS else f"took {seconds:.0f} s")
        try:
            check_runs(checks, f"{name} {cpu}", model, sets, expected, threads)
            if cpu == cpus[0]:
                check_batch(checks, name, model, sets)
                check_same_artifact(checks, driver, name, path, cpu, model)
        except (Refused, Broken) as error:
            checks.add(f"{name} {cpu} run", str(error))


def check_runs(checks: Checks, title: str, model, sets: list, expected: list, threads: list[int]) -> None:
    for inputs, right in zip(sets, expected):
        shape = "x".join(str(size) for size in next(iter(inputs.values())).shape)
        first = None
        for count in threads:
            result = model.run(inputs, count)
            checks.add(f"{title} {shape} threads={count}", compare(right, result))
            if first is not None:
                checks.add(f"{title} {shape} threads={count} same bits", same_bits(first, result))
            first = first or result


def check_batch(checks: Checks, name: str, model, sets: list) -> None:
    if name not in models.BATCHED:
        return
    inputs = sets[-1]
    whole = model.run(inputs, 1)
    for row in (0, len(next(iter(inputs.values()))) - 1):
        alone = model.run({key: value[row : row + 1] for key, value in inputs.items()}, 1)
        checks.add(f"{name} row {row} alone", same_bits({key: value[row : row + 1] for key, value in whole.items()}, alone))


def check_same_artifact(checks: Checks, driver: CliDriver, name: str, path: Path, cpu: str, model) -> None:
    """The driver puts each artifact into a folder of its own; here the model lies elsewhere too."""
    with tempfile.TemporaryDirectory(prefix="mopt-another-folder-") as folder:
        copy = Path(shutil.copy(path, folder))
        again = driver.compile(copy, cpu="" if cpu == "native" else cpu)
        same = again.path.read_bytes() == model.path.read_bytes()
        checks.add(f"{name} {cpu} same artifact in another folder", "" if same else "the bytes differ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[2])
    parser.add_argument("--models", nargs="+", choices=models.SHAPES, metavar="NAME", help=f"of {' '.join(models.SHAPES)}")
    parser.add_argument("--cpus", nargs="+", default=["native", "x86-64-v2", "x86-64-v3"], metavar="CPU")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4], metavar="N")
    parser.add_argument(
        "--fast", action="store_true", help="models that are at hand and small, native and v2, 1 and 2 threads"
    )
    parser.add_argument("--fetch", action="store_true", help="fetch the models that are missing")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    options = parser.parse_args()
    if options.fast:
        options.models, options.cpus, options.threads = ["fashion_resnet", "magika"], ["native", "x86-64-v2"], [1, 2]
    names = options.models or list(models.SHAPES)
    if options.fetch:
        subprocess.run([sys.executable, ROOT / "tools" / "fetch_models.py", *names], timeout=3600, check=True)

    driver, checks = CliDriver(timeout=600), Checks()
    available = Path("/proc/cpuinfo").read_text()
    for name in names:
        if not models.path_of(name).is_file():
            print(f"{name}: skipped, {models.path_of(name)} is not there; tools/fetch_models.py {name} fetches it")
            checks.results.append((name, "skipped", "the model is not there"))
            continue
        cpus = [cpu for cpu in options.cpus if not (cpu == "x86-64-v3" and "avx2" not in available)]
        check_model(checks, driver, name, cpus, options.threads)
    if options.junit:
        junit.write(options.junit, "models", checks.results)
    counts = {status: sum(s == status for _, s, _ in checks.results) for status in ("ok", "failed", "skipped")}
    print(f"{counts['ok']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
