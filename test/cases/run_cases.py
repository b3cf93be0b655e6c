"""Compiles and runs the cases of this folder and compares with the answers beside them.

example: python test/cases/run_cases.py --match gelu --driver cli
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE.parent / "support"), str(ROOT / "tools" / "dev")]

import junit
import numpy as np
from compare import difference
from drivers import Broken, Refused, driver_named
from workers import run_all

BUILD = Path(os.environ.get("MOPT_BUILD", ROOT / "build"))
SUPPORTED = HERE / "supported.txt"


def load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def run_case(driver, folder: Path) -> tuple[str, str]:
    meta = json.loads((folder / "meta.json").read_text())
    try:
        model = driver.compile(folder / "model.onnx")
        for index in range(meta["sets"]):
            suffix = f"_{index}" if index else ""
            results = model.run(load(folder / f"inputs{suffix}.npz"))
            for name, expected in load(folder / f"expected{suffix}.npz").items():
                if name not in results:
                    return "wrong", f"set {index}: output {name} is missing"
                wrong = difference(expected, results[name], meta["rtol"], meta["atol"])
                if wrong:
                    return "wrong", f"set {index}, output {name}: {wrong}"
    except Refused as error:
        return "refused", str(error)
    except Broken as error:
        return "broken", str(error)
    return "ok", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[2])
    parser.add_argument("--match", default="", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument("--driver", default="auto", choices=("auto", "python", "cli"))
    parser.add_argument("--update", action="store_true", help="add what works now to supported.txt")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    options = parser.parse_args()

    folders = [path.parent for path in sorted(HERE.glob("*/meta.json")) if options.match in path.parent.name]
    driver = driver_named(options.driver)
    outcomes = run_all(lambda folder: run_case(driver, folder), folders, count=len(os.sched_getaffinity(0)),
                       timeout=120, log=BUILD / "log" / "cases-workers.log")  # fmt: skip
    supported = set(SUPPORTED.read_text().split())
    report = []
    for folder, (status, text) in zip(folders, outcomes, strict=True):
        lost = status == "refused" and folder.name in supported
        print(f"{'LOST' if lost else status:8} {folder.name}{': ' if text else ''}{text}")
        verdict = "ok" if status == "ok" else "skipped" if status == "refused" and not lost else "failed"
        report.append((folder.name, verdict, f"{status}: {text}"))
        if status == "ok":
            supported.add(folder.name)
    if options.update:
        SUPPORTED.write_text("".join(f"{name}\n" for name in sorted(supported)))
    if options.junit:
        junit.write(options.junit, "cases", report)
    counts = {verdict: sum(v == verdict for _, v, _ in report) for verdict in ("ok", "failed", "skipped")}
    print(f"{counts['ok']} right, {counts['failed']} failed, {counts['skipped']} refused of {len(report)}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
