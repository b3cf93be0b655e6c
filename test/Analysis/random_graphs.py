"""Random graphs over the operators that mopt reads: the interpreter against onnxruntime.

A seed gives one graph of a few nodes; all values are outputs. Where a graph differs, its nodes are run one by one with the
inputs that onnxruntime saw, so that a report names an operator and not a rounding that grew on its way.

example: MOPT_COMPILER=build/release/bin/mopt-compiler python test/Analysis/random_graphs.py --count 200
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
import graph_movement
import graph_operators
from compare import difference, magnitude
from drivers import Broken, Refused
from interpreter import Interpreter

OPSET = 21
OPERATORS = graph_operators.OPERATORS | graph_movement.OPERATORS
onnxruntime.set_default_logger_severity(4)


class Graph:
    """A model under construction; every value has the array that onnxruntime computed for it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.values: dict[str, np.ndarray] = {}
        self.inputs: list[str] = []
        self.weights: list[str] = []

    def new(self, array: np.ndarray, constant: bool | None = None) -> str:
        """A new input, or an initializer."""
        if constant is None:
            constant = self.rng.random() < 0.4
        name = f"{'w' if constant else 'x'}{len(self.values)}"
        self.values[name] = np.asarray(array)
        (self.weights if constant else self.inputs).append(name)
        return name

    def pick(self, dtype: np.dtype, rank: tuple[int, int] = (0, 4), fits=lambda shape: True) -> str | None:
        """A value there is already."""
        names = [name for name, value in self.values.items()
                 if value.dtype == dtype and rank[0] <= value.ndim <= rank[1] and fits(value.shape)
                 and (dtype.kind != "f" or np.isfinite(value).all() and magnitude(value) < 1e4)]  # fmt: skip
        return str(self.rng.choice(names)) if names and self.rng.random() < 0.6 else None

    def add(self, kind: str, inputs: list[str], attributes: dict, outputs: int = 1) -> bool:
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(kind, inputs, names, name=f"n{len(self.nodes)}", **attributes)
        try:
            results = run_reference([node], {name: self.values[name] for name in inputs if name}, names)
        except Exception:  # onnxruntime refuses: not a case to judge mopt by
            return False
        self.nodes.append(node)
        self.values.update(results)
        return True

    def model(self) -> onnx.ModelProto:
        outputs = [name for node in self.nodes for name in node.output]
        return make_model(self.nodes, {n: self.values[n] for n in self.inputs}, {n: self.values[n] for n in self.weights},
                          {n: self.values[n] for n in outputs})  # fmt: skip


def info(name: str, value: np.ndarray, shape=None):
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape if shape is None else shape
    )


def make_model(nodes, inputs, weights, outputs) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes, "random", [info(n, v) for n, v in inputs.items()],
        [info(n, v) if v is not None else onnx.ValueInfoProto(name=n) for n, v in outputs.items()],
        [numpy_helper.from_array(v, n) for n, v in weights.items()])  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def run_reference(nodes, inputs, names) -> dict[str, np.ndarray]:
    model = make_model(nodes, inputs, {}, dict.fromkeys(names))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, inputs), strict=True))


def tolerances(value: np.ndarray) -> tuple[float, float]:
    if value.dtype.kind != "f":
        return 0, 0
    return (1e-3, 1e-4 * magnitude(value) + 1e-6) if value.dtype.itemsize > 2 else (1e-2, 2e-3 * magnitude(value) + 1e-3)


def check(driver: Interpreter, model: onnx.ModelProto, inputs, expected) -> str:
    try:
        got = driver.compile(model.SerializeToString()).run(inputs)
    except (Refused, Broken) as error:
        return f"{type(error).__name__.lower()}: {error}"
    for name, value in expected.items():
        rtol, atol = tolerances(value)
        if text := difference(value, got[name], rtol, atol):
            return f"{name}: {text}"
    return ""


def run_seed(seed: int, driver: Interpreter, only: str | None) -> list[tuple[str, str]]:
    """(operator, what is wrong) for each node that is wrong by itself."""
    graph = Graph(seed)
    kinds = [only] if only else list(OPERATORS)
    for _ in range(40):
        if len(graph.nodes) >= 6:
            break
        with contextlib.suppress(ValueError, TypeError):  # no valid node for these sizes
            OPERATORS[str(graph.rng.choice(kinds))](graph)
    if not graph.nodes:
        return []
    outputs = {name: graph.values[name] for node in graph.nodes for name in node.output}
    text = check(driver, graph.model(), {n: graph.values[n] for n in graph.inputs}, outputs)
    if not text:
        return []
    wrong = []
    for node in graph.nodes:
        # Which inputs are constants decides how a node is read, so it stays as it was.
        used = {name: graph.values[name] for name in node.input if name}
        weights = {name: value for name, value in used.items() if name in graph.weights}
        inputs = {name: value for name, value in used.items() if name not in weights}
        results = {name: graph.values[name] for name in node.output}
        if alone := check(driver, make_model([node], inputs, weights, results), inputs, results):
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            shapes = [f"{v.dtype}{list(v.shape)}{'c' if n in weights else ''}" for n, v in used.items()]
            wrong.append((node.op_type, f"{alone} [{', '.join(shapes)} {attributes}]"))
    return wrong or [("graph", text)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="graphs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--op", help="only this operator")
    parser.add_argument("--to", default="imported", help="run the passes up to this phase before")
    options = parser.parse_args()
    driver = Interpreter(options.to)
    failures, grown = Counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        for kind, text in run_seed(seed, driver, options.op):
            # A difference that no node makes alone is a rounding before a step function, unless mopt refused the graph.
            if kind == "graph" and not text.startswith(("refused", "broken")):
                grown += 1
                continue
            if not failures[kind]:
                print(f"seed {seed}: {kind}: {text}", flush=True)
            failures[kind] += 1
    print(f"{options.count} graphs, {sum(failures.values())} failures {dict(failures)}, {grown} of grown roundings")
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
