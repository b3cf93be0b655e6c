"""Performance gates that do not depend on how busy the machine is: instructions a run, code bytes, steps, arena bytes.

Small models (a matrix product and a convolution, of floats and of bytes, and a layer normalization) are compiled for x86-64-v3 and run with one
thread under callgrind, eleven times and once: a tenth of the difference is what one run costs. counts.json holds the
accepted numbers. More than they allow is a failure; less is worth `--update`.

example: python bench/counts.py --update
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path += [str(ROOT / "test" / "support"), str(ROOT / "tools" / "dev")]

import junit
import raw
from drivers import RELEASE, execute

ACCEPTED = HERE / "counts.json"
# How much more than accepted is still the same: instructions move a little with the C library's copies and hashes.
SLACK = {"instructions": 1.02, "code_bytes": 1.05, "steps": 1.0, "arena_bytes": 1.0}
CPU = "x86-64-v3"


def model_of(op: str, shape: list[int], weights: dict[str, list[int]], **attributes) -> tuple[bytes, dict[str, np.ndarray]]:
    random = np.random.default_rng(7)
    tensors = [
        numpy_helper.from_array(random.standard_normal(dims).astype(np.float32), name) for name, dims in weights.items()
    ]
    node = helper.make_node(op, ["x", *weights], ["y"], name=op.lower(), **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], op, [x], [y], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return model.SerializeToString(), {"x": random.standard_normal(shape).astype(np.float32)}


def quantized(op: str, shape: list[int], weights: list[int], **attributes) -> tuple[bytes, dict[str, np.ndarray]]:
    """QLinearMatMul or QLinearConv with one scale for all."""
    random = np.random.default_rng(7)
    constants = {
        "x_scale": np.float32(0.02),
        "x_zero": np.uint8(3),
        "w": random.integers(-127, 128, weights).astype(np.int8),
        "w_scale": np.float32(0.01),
        "w_zero": np.int8(0),
        "y_scale": np.float32(0.5),
        "y_zero": np.uint8(100),
    }
    node = helper.make_node(op, ["x", *constants], ["y"], name=op.lower(), **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, shape)
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, None)
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph([node], op, [x], [y], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return model.SerializeToString(), {"x": random.integers(0, 256, shape).astype(np.uint8)}


MODELS = {
    "gemm": lambda: model_of("Gemm", [32, 192], {"w": [192, 256], "b": [256]}),
    "conv": lambda: model_of("Conv", [1, 32, 28, 28], {"w": [48, 32, 3, 3], "b": [48]}, pads=[1, 1, 1, 1]),
    "qgemm": lambda: quantized("QLinearMatMul", [32, 192], [192, 256]),
    "qconv": lambda: quantized("QLinearConv", [1, 32, 28, 28], [48, 32, 3, 3], pads=[1, 1, 1, 1]),
    "norm": lambda: model_of("LayerNormalization", [64, 384], {"scale": [384], "bias": [384]}),
}


def instructions(program: list[Path], artifact: Path, inputs: dict, folder: Path, repeats: int) -> int:
    output = folder / f"callgrind.{repeats}"
    prefix = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", "--quiet", *program]
    raw.run(prefix, artifact, inputs, folder, repeats=repeats)
    return int(re.search(r"^(?:summary|totals): (\d+)", output.read_text(), re.MULTILINE).group(1))


def measure(name: str, program: list[Path], folder: Path) -> dict[str, int]:
    model, inputs = MODELS[name]()
    (folder / f"{name}.onnx").write_bytes(model)
    artifact, report = folder / f"{name}.so", folder / f"{name}.json"
    execute(
        [
            RELEASE / "bin/mopt",
            "compile",
            folder / f"{name}.onnx",
            "-o",
            artifact,
            "--cpu",
            CPU,
            "--report",
            report,
            "--quiet",
        ],
        120,
    )
    facts = json.loads(report.read_text())
    once, often = (instructions(program, artifact, inputs, folder, repeats) for repeats in (1, 11))
    return {
        "instructions": (often - once) // 10,
        "code_bytes": facts["code_bytes"],
        "steps": facts["steps"],
        "arena_bytes": facts["arena_bytes"],
    }


def judge(name: str, counts: dict[str, int], accepted: dict[str, int]) -> list[tuple[str, str, str]]:
    results = []
    for what, count in counts.items():
        limit = accepted.get(what)
        title = f"{name} {what}"
        if limit is None:
            results.append((title, "skipped", f"{count}, nothing to hold it against; --update accepts it"))
        elif count > limit * SLACK[what]:
            results.append((title, "failed", f"{count}, accepted are {limit} ({100 * (count / max(limit, 1) - 1):+.1f} %)"))
        else:
            better = " (less than accepted: --update)" if count < limit / SLACK[what] else ""
            results.append((title, "ok", f"{count}, accepted {limit}{better}"))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[-1])
    parser.add_argument("--update", action="store_true", help="accept today's counts")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    options = parser.parse_args()
    results = []
    if not shutil.which("valgrind") or " avx2 " not in Path("/proc/cpuinfo").read_text():
        results.append(("counts", "skipped", "needs valgrind and a processor with AVX2"))
    else:
        accepted = json.loads(ACCEPTED.read_text()) if ACCEPTED.is_file() else {}
        with tempfile.TemporaryDirectory(prefix="mopt-counts-") as folder:
            program = raw.build_native(Path(folder))
            for name in MODELS:
                counts = measure(name, program, Path(folder))
                results += judge(name, counts, accepted.get(name, {}))
                accepted[name] = counts if options.update else accepted.get(name, counts)
        if options.update:
            ACCEPTED.write_text(json.dumps(accepted, indent=2, sort_keys=True) + "\n")
    for title, status, text in results:
        print(f"{status:8} {title:22} {text}")
    if options.junit:
        junit.write(options.junit, "counts", results)
    return 1 if any(status == "failed" for _, status, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
