"""Eight threads, three models, one pool of two, under ThreadSanitizer: answers as in a serial run, weights mapped once.

example: python test/e2e/run_concurrent.py --models magika mtcnn_onet fashion_resnet
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE.parent / "support"), str(ROOT / "tools" / "dev")]

import junit
import models
from drivers import RELEASE, Broken, execute


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[2])
    parser.add_argument("--models", nargs=3, default=["fashion_resnet"] * 3, metavar="NAME")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    options = parser.parse_args()
    wrong = ""
    with tempfile.TemporaryDirectory(prefix="mopt-concurrent-") as folder:
        program = Path(folder) / "concurrent"
        artifacts = []
        # One model three times is compiled for three processors, so that the artifacts differ.
        for index, (name, cpu) in enumerate(zip(options.models, ("x86-64-v2", "x86-64-v3", "native"), strict=True)):
            artifacts.append(Path(folder) / f"{index}.so")
            execute([RELEASE / "bin/mopt-compiler", "compile", models.path_of(name), "-o", artifacts[-1], "--cpu", cpu,
                     "--quiet"], 300)  # fmt: skip
        execute(["clang-22", "-O1", "-g", "-fsanitize=thread", "-std=gnu11", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE",
                 f"-I{ROOT}/include", HERE / "concurrent.c", *sorted((ROOT / "lib/Runtime").glob("*.c")), "-lpthread", "-ldl",
                 "-o", program], 300)  # fmt: skip
        try:
            print(execute([program, *artifacts], 600).strip())
        except Broken as error:
            wrong = str(error)
            print(f"WRONG: {wrong}")
    if options.junit:
        junit.write(options.junit, "concurrent", [("three models, eight threads", "failed" if wrong else "ok", wrong)])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
