"""ONNX's own backend tests, each isolated from the others, with a list of passes that may only grow.

example: ./dev conformance --match gemm --driver cli
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import re
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE.parent / "support"), str(ROOT / "tools" / "dev")]

import junit
from drivers import CARRIERS, Broken, Refused, driver_named
from workers import run_all

PASSES = HERE / "passes.txt"
EXCUSED = HERE / "excused.txt"
BUILD = Path(os.environ.get("MOPT_BUILD", ROOT / "build"))
KINDS = {
    "OnnxBackendNodeModelTest": "node",
    "OnnxBackendSimpleModelTest": "simple",
    "OnnxBackendRealModelTest": "real",
    "OnnxBackendPyTorchConvertedModelTest": "pytorch-converted",
    "OnnxBackendPyTorchOperatorModelTest": "pytorch-operator",
}
# What onnxruntime 1.32 on this list of 2,033 tests was measured to pass; a yardstick, not a goal.
ONNXRUNTIME_PASSES = 1787


def load_tests(driver) -> dict[str, object]:
    """{"node/test_abs": callable}: onnx's own test functions, so that loading and comparing are onnx's too."""
    from onnx.backend.base import Backend, BackendRep, namedtupledict
    from onnx.backend.test import BackendTest

    class Rep(BackendRep):
        def __init__(self, model) -> None:
            weights = {tensor.name for tensor in model.graph.initializer}
            self.inputs = [value.name for value in model.graph.input if value.name not in weights]
            self.outputs = [value.name for value in model.graph.output]
            self.types = [value.type.tensor_type.elem_type for value in model.graph.output]
            self.compiled = driver.compile(model.SerializeToString())

        def run(self, inputs, **kwargs):
            results = self.compiled.run(dict(zip(self.inputs, inputs, strict=False)))
            values = (restore(results[name], kind) for name, kind in zip(self.outputs, self.types))
            return namedtupledict("Outputs", self.outputs)(*values)

    class Driven(Backend):
        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            return Rep(model)

        @classmethod
        def supports_device(cls, device):
            return device == "CPU"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # expected values of some tests are made by dividing by zero
        classes = BackendTest(Driven, __name__).test_cases
    tests = {}
    for name, kind in KINDS.items():
        for method in sorted(vars(classes[name])):
            if method.startswith("test_") and method.endswith("_cpu"):
                tests[f"{kind}/{method.removesuffix('_cpu')}"] = getattr(classes[name](method), method)
    return tests


def restore(array, kind: int):
    """The element type of the model, where the driver hands out integers with the same bits."""
    from onnx import helper

    wanted = helper.tensor_dtype_to_np_dtype(kind) if kind else array.dtype
    return array.view(wanted) if wanted in CARRIERS and array.dtype == CARRIERS[wanted] else array


def outcome(test) -> tuple[str, str]:
    try:
        with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
            test()
        return "passed", ""
    except Refused as error:
        return "refused", str(error)
    except Broken as error:
        return "broken", str(error)
    except AssertionError as error:
        return "wrong", " ".join(str(error).split())[:400]
    except Exception as error:
        return "harness", f"{type(error).__name__}: {error}"[:400]


def read_names(path: Path) -> dict[str, str]:
    """One name a line, then a reason where one is due."""
    if not path.is_file():
        return {}
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return {name: reason for name, _, reason in (line.partition(" ") for line in lines if line)}


def cause(status: str, text: str) -> str:
    """The reason without what is particular to one test, so that equal reasons count together."""
    if status == "refused":
        code = re.search(r"MOPT-[A-Z]\d+", text)
        ops = re.findall(r"\b(?:op|operator)s?[^:]*: ([\w., ]+)", text)
        return f"refused {code.group() if code else ''} {ops[0][:60] if ops else ''}".strip()
    general = re.sub(r"[-+]?\d[\d.e+-]*", "#", text)
    return f"{status}: {general[:70]}"


def print_report(results: dict[str, tuple[str, str]], excused: dict[str, str], details: bool) -> None:
    groups: dict[str, list[str]] = {}
    for name, (status, text) in results.items():
        if status != "passed":
            groups.setdefault(cause(status, text), []).append(name)
    print(f"\n{'tests':>6}  cause (and one of the tests)")
    for reason, names in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):6}  {reason}  ({names[0]})")
    for name, (status, text) in results.items():
        if (
            status in ("wrong", "broken", "crash", "timeout", "harness")
            and name not in excused
            or details
            and status != "passed"
        ):
            print(f"{status.upper():8} {name}: {text}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev conformance", description=__doc__.splitlines()[0],
                                     epilog=__doc__.splitlines()[2])  # fmt: skip
    parser.add_argument(
        "--match", default="*", metavar="PATTERN", help="only tests whose name contains this, * and ? allowed"
    )
    parser.add_argument(
        "--driver", default="auto", choices=("auto", "python", "cli"), help="how models are compiled and run"
    )
    parser.add_argument("--update", action="store_true", help="add new passes to passes.txt")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="for one test (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="processes")
    parser.add_argument("--details", action="store_true", help="print every test that did not pass")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    options = parser.parse_args()

    os.environ["ONNX_HOME"] = str(BUILD / "conformance")  # onnx writes made-up inputs of its light models there
    driver = driver_named(options.driver)
    tests = load_tests(driver)
    names = [name for name in tests if fnmatch.fnmatch(name, f"*{options.match}*")]
    print(f"{len(names)} tests of {len(tests)}, driver {driver.name}, {options.jobs} processes", flush=True)
    start, shown = time.monotonic(), [0.0]

    def progress(done: int, count: int) -> None:
        now = time.monotonic()
        if now - shown[0] > (1 if sys.stdout.isatty() else 30):
            shown[0] = now
            print(f"  {done} of {count}, {now - start:.0f} s", end="\r" if sys.stdout.isatty() else "\n", flush=True)

    log = BUILD / "log" / "conformance.log"
    log.unlink(missing_ok=True)
    outcomes = run_all(lambda name: outcome(tests[name]), names, count=options.jobs, timeout=options.timeout, log=log,
                       progress=progress)  # fmt: skip
    results = dict(zip(names, outcomes, strict=True))
    return finish(results, options, time.monotonic() - start)


def finish(results: dict[str, tuple[str, str]], options: argparse.Namespace, seconds: float) -> int:
    listed, excused = read_names(PASSES), read_names(EXCUSED)
    print_report(results, excused, options.details)
    passed = [name for name, (status, _) in results.items() if status == "passed"]
    lost = [name for name in listed if name in results and results[name][0] != "passed"]
    new = [name for name in passed if name not in listed]
    report = []
    for name, (status, text) in results.items():
        bad = name in lost or status not in ("passed", "refused") and name not in excused
        report.append((name, "failed" if bad else "ok" if status == "passed" else "skipped", f"{status}: {text}"))
    if options.junit:
        junit.write(options.junit, "conformance", report)
    if options.update and new:
        PASSES.write_text("".join(f"{name}\n" for name in sorted({*listed, *new})))
    counts = Counter(status for status, _ in results.values())
    print(f"\n{', '.join(f'{count} {status}' for status, count in counts.most_common())} in {seconds:.0f} s")
    print(
        f"passed {len(passed)} of {len(results)}"
        + (f" (onnxruntime 1.32: {ONNXRUNTIME_PASSES} of 2033)" if len(results) > 2000 else "")
    )
    if new:
        print(
            f"{len(new)} new passes" + (" added to passes.txt" if options.update else "; --update adds them to passes.txt")
        )
    for name in lost:
        print(f"LOST     {name}: {results[name][0]}: {results[name][1]}")
    failed = sum(status == "failed" for _, status, _ in report)
    print(f"{len(passed)} passed, {failed} failed, {len(results) - len(passed) - failed} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
