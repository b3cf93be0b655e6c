"""Artifacts for AArch64, run under emulation and compared with onnxruntime.

example: python test/e2e/run_emulated.py --models fashion_resnet
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1] / "tools" / "dev")]

import junit
import models
import raw
from drivers import Broken, CliDriver, Refused
from run_models import Checks, compare, reference, same_bits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[2])
    parser.add_argument("--models", nargs="+", default=["fashion_resnet", "magika"], metavar="NAME")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    options = parser.parse_args()
    driver, checks = CliDriver(timeout=600), Checks()
    with tempfile.TemporaryDirectory(prefix="mopt-emulated-") as folder:
        program = raw.build_aarch64(Path(folder))
        for name in options.models:
            path = models.path_of(name)
            if not path.is_file():
                checks.results.append((name, "skipped", f"{path} is not there"))
                continue
            sets = models.inputs_of(name)[:2]
            try:
                model = driver.compile(path, triple=raw.AARCH64)
                for inputs, expected in zip(sets, reference(path, sets)):
                    title = f"{name} {next(iter(inputs.values())).shape}"
                    one = raw.run(program, model.path, inputs, Path(folder))
                    checks.add(f"{title} aarch64", compare(expected, one))
                    two = raw.run(program, model.path, inputs, Path(folder), threads=2)
                    checks.add(f"{title} aarch64 threads=2 same bits", same_bits(one, two))
            except (Refused, Broken) as error:
                checks.add(f"{name} aarch64", str(error))
    if options.junit:
        junit.write(options.junit, "emulated", checks.results)
    failed = sum(status == "failed" for _, status, _ in checks.results)
    print(f"{len(checks.results) - failed} of {len(checks.results)} right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
