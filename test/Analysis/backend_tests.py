"""ONNX's backend tests through the interpreter: what fails here fails before any code is generated.

example: MOPT_COMPILER=build/release/bin/mopt-compiler python test/Analysis/backend_tests.py --match gemm
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from interpreter import ROOT, Interpreter

sys.path += [str(ROOT / "test" / "conformance"), str(ROOT / "tools" / "dev")]
import run as conformance
from workers import run_all


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", default="node/", help="only tests whose name contains this")
    parser.add_argument("--to", default="imported", help="run the passes up to this phase before")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--log", type=Path, default=Path("backend_tests.log"))
    options = parser.parse_args()
    tests = conformance.load_tests(Interpreter(options.to))
    names = [name for name in tests if options.match in name]
    outcomes = run_all(lambda name: conformance.outcome(tests[name]), names, count=options.jobs, timeout=90, log=options.log,
                       progress=lambda done, count: None)  # fmt: skip
    results = dict(zip(names, outcomes, strict=True))
    conformance.print_report(results, {}, details=False)
    print(dict(Counter(status for status, _ in results.values())))
    return 0 if all(status in ("passed", "refused") for status, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
