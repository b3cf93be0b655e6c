"""Command line of ./dev bench. Standard library only: ./dev reads it before there is a Python environment."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = sorted(path.stem for path in (HERE / "peers").glob("*.py"))
ALWAYS = ["mopt", "onnxruntime", "limit"]  # the one that is judged, the one that others are held against, the processor
BUILD = Path(os.environ.get("MOPT_BUILD") or HERE.parent / "build").resolve()
TEXT = """mopt and other engines on the same models, inputs and threads: each in a process of its own, in turns of a
fraction of a second. Writes bench.json, bench.txt and bench.html. See docs/benchmark.md."""


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(word) for word in text.split(",") if word]
    except ValueError:
        numbers = [0]
    if any(not 1 <= number <= 256 for number in numbers):
        raise argparse.ArgumentTypeError("numbers from 1 to 256 with commas between them, for example 1,2")
    return list(dict.fromkeys(numbers))


def _peers(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no peer {unknown[0]}; there are: {' '.join(PEERS)}")
    return list(dict.fromkeys([*ALWAYS, *names]))


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="./dev bench",
        description=TEXT,
        epilog="example: ./dev bench minilm mobilenetv2-b1 --threads 1,2 --peers openvino",
    )
    result.add_argument(
        "models", nargs="*", metavar="MODEL", help="models or cases, as minilm or minilm-b1s16; default: all"
    )
    result.add_argument("--threads", type=_numbers, default=[1, 2], metavar="N,N", help="of one run (default: 1,2)")
    result.add_argument("--callers", type=_numbers, metavar="N,N", default=None,
                        help="runs at the same time, of one thread each (default: 1,2,4,8; with --quick 1,2; '': none)")  # fmt: skip
    result.add_argument("--peers", type=_peers, default=[*ALWAYS, *(name for name in PEERS if name not in ALWAYS)],
                        metavar="NAME,NAME", help=f"besides {', '.join(ALWAYS)}; default: all of {' '.join(PEERS)}")  # fmt: skip
    result.add_argument("--quick", action="store_true", help="few models and short turns, to see that everything works")
    result.add_argument("--output", type=Path, default=BUILD / "bench", metavar="DIR", help="default: %(default)s")
    return result


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    options = parser().parse_args(arguments)
    if options.callers is None:
        options.callers = [1, 2] if options.quick else [1, 2, 4, 8]
    return options
