"""export(import(x)) means x: the written model passes onnx's full check and gives the answers of the original.

example: python test/e2e/round_trip.py --match gelu
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE), str(HERE.parent / "support"), str(ROOT / "tools" / "dev")]

import junit
import models
import numpy as np
import onnx
from compare import difference
from drivers import RELEASE, Broken, Refused, execute
from run_models import Checks, compare, reference

MOPT = RELEASE / "bin" / "mopt"


def round_trip(model: Path, folder: Path) -> Path:
    execute([MOPT, "import", model, "-o", folder / "model.mlir"], 300)
    execute([MOPT, "export", folder / "model.mlir", "-o", folder / "back.onnx"], 300)
    onnx.checker.check_model(str(folder / "back.onnx"), full_check=True)
    return folder / "back.onnx"


def load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def check_case(case: Path, folder: Path) -> str:
    """Against the answers of the case, which do not depend on any runtime; onnxruntime only runs the written model."""
    meta = json.loads((case / "meta.json").read_text())
    back = round_trip(case / "model.onnx", folder)
    try:
        right = reference(case / "model.onnx", [load(case / "inputs.npz")])[0]
    except Exception:  # onnxruntime cannot run the original: then it need not run the copy
        return ""
    results = reference(back, [load(case / "inputs.npz")])[0]
    for name, value in right.items():
        wrong = difference(value, results[name], max(meta["rtol"], 1e-6), max(meta["atol"], 1e-6))
        if wrong:
            return f"output {name}: {wrong}"
    return ""


def check_model(name: str, folder: Path) -> str:
    sets = models.inputs_of(name)[:1]
    back = round_trip(models.path_of(name), folder)
    return compare(reference(models.path_of(name), sets)[0], reference(back, sets)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[2])
    parser.add_argument("--match", default="", metavar="TEXT", help="only cases and models whose name contains this")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    options = parser.parse_args()
    checks = Checks()
    tasks = [(path.parent.name, check_case, path.parent) for path in sorted((ROOT / "test/cases").glob("*/meta.json"))]
    tasks += [(name, check_model, name) for name in models.SHAPES if models.path_of(name).is_file()]
    for name, check, argument in tasks:
        if options.match not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="mopt-round-trip-") as folder:
            try:
                checks.add(name, check(argument, Path(folder)))
            except Refused as error:
                checks.results.append((name, "skipped", str(error)))
                print(f"  refused {name}: {error}")
            except (Broken, onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
                checks.add(name, " ".join(str(error).split())[:400])
    if options.junit:
        junit.write(options.junit, "round-trips", checks.results)
    counts = {status: sum(s == status for _, s, _ in checks.results) for status in ("ok", "failed", "skipped")}
    print(f"{counts['ok']} right, {counts['failed']} failed, {counts['skipped']} refused")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
