"""Random graphs of image ops: what folding into weights and the choice of layouts make of them, against onnxruntime.

Only values that no node reads are outputs, so that chains fold as in real models. Convolutions are large enough to be worth
a layout; what follows them names axes, broadcasts, drops axes, or needs ONNX's order.

example: MOPT_COMPILER=build/release/bin/mopt-compiler python test/Transforms/image_graphs.py --count 200
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

try:
    import numpy as np
    import onnxruntime  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

sys.path += [str(Path(__file__).resolve().parents[1] / name) for name in ("support", "Analysis")]
from drivers import CliDriver
from interpreter import Interpreter
from random_graphs import Graph, check, make_model


class Images(Graph):
    """A graph whose values are images (rank 3 and 4); `live` are those that may be read next."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.live: list[str] = []

    def weight(self, *shape: int, positive: bool = False) -> str:
        value = self.rng.standard_normal(shape).astype(np.float32)
        return self.new(np.abs(value) + 0.5 if positive else value, constant=True)

    def list(self, *values: int) -> str:
        return self.new(np.array(values, np.int64), constant=True)

    def int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def some(self, *choices):
        return choices[self.int(0, len(choices) - 1)]

    def image(self, rank: int | None = None) -> str:
        fits = [n for n in self.live if rank is None or self.values[n].ndim == rank]
        if not fits:
            raise ValueError("no such value")
        return self.some(*fits[-3:])

    def put(self, kind: str, inputs: list[str], outputs: int = 1, /, **attributes) -> None:
        if self.add(kind, inputs, attributes, outputs):
            self.live += [
                n for n in self.nodes[-1].output if self.values[n].ndim >= 3 and self.values[n].dtype == np.float32
            ]


def spatial(g: Images, x: str) -> int:
    return g.values[x].ndim - 2


def kernel_for(g: Images, x: str) -> list[int]:
    """No larger than the image: an empty result is refused, and no case to judge a pass by."""
    return [min(g.int(1, 3), size) for size in g.values[x].shape[2:]]


def window(g: Images, x: str, kernel: list[int]) -> dict:
    n = len(kernel)
    if g.rng.random() < 0.2:
        return {"auto_pad": g.some("SAME_UPPER", "SAME_LOWER", "VALID"), "strides": [g.int(1, 2) for _ in range(n)]}
    return {"pads": [g.int(0, k // 2) for k in kernel * 2], "strides": [g.int(1, 2) for _ in range(n)]}


def conv(g: Images) -> None:
    x = g.image()
    channels = g.values[x].shape[1]
    group = channels if g.rng.random() < 0.2 else 1
    kernel, out = kernel_for(g, x), g.int(1, 2) * group if group > 1 else g.some(1, 8, 24)
    bias = [g.weight(out)] if g.rng.random() < 0.5 else []
    g.put("Conv", [x, g.weight(out, channels // group, *kernel), *bias], group=group, **window(g, x, kernel))


def conv_transpose(g: Images) -> None:
    x = g.image()
    channels, n = g.values[x].shape[1], spatial(g, x)
    group = g.some(1, 2) if channels % 2 == 0 else 1
    g.put("ConvTranspose", [x, g.weight(channels, g.int(1, 6), *[g.int(1, 3)] * n)], group=group, strides=[g.int(1, 2)] * n)


def batch_norm(g: Images) -> None:
    x = g.image()
    c = g.values[x].shape[1]
    g.put("BatchNormalization", [x, g.weight(c), g.weight(c), g.weight(c), g.weight(c, positive=True)])


def per_channel(g: Images) -> None:
    x = g.image()
    shape = g.some([g.values[x].shape[1]] + [1] * spatial(g, x), [1, g.values[x].shape[1]] + [1] * spatial(g, x), [], [1])
    operands = [x, g.weight(*shape, positive=True)]
    g.put(g.some("Mul", "Add", "Sub", "Div"), operands[:: g.some(1, -1)])


def broadcast(g: Images) -> None:
    x = g.image()
    shape = [d if g.rng.random() < 0.5 else 1 for d in g.values[x].shape][g.int(0, g.values[x].ndim - 1) :]
    other = g.new(g.rng.standard_normal(shape).astype(np.float32))
    g.put(g.some("Mul", "Add", "Max"), [x, other])


def join(g: Images) -> None:
    x, y = g.image(), g.image()
    if g.values[x].shape == g.values[y].shape:
        g.put(g.some("Add", "Mul", "Sub"), [x, y])
    else:
        g.put("Concat", [x, g.image(g.values[x].ndim)], axis=g.int(-spatial(g, x) - 2, spatial(g, x) + 1))


def unary(g: Images) -> None:
    x = g.image()
    kind = g.some("Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Clip", "PRelu", "Identity")
    extra = {"PRelu": [[g.values[x].shape[1]] + [1] * spatial(g, x)], "Clip": [[], []]}.get(kind, [])
    g.put(kind, [x, *[g.weight(*shape) for shape in extra]])


def pool(g: Images) -> None:
    x = g.image()
    kind = g.some("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool")
    if kind.startswith("Global"):
        return g.put(kind, [x])
    kernel = kernel_for(g, x)
    g.put(kind, [x], 2 if kind == "MaxPool" and g.rng.random() < 0.2 else 1, kernel_shape=kernel, **window(g, x, kernel))


def norm(g: Images) -> None:
    x = g.image()
    c = g.values[x].shape[1]
    kind = g.some("InstanceNormalization", "LRN", "LpNormalization", "Softmax", "LayerNormalization", "GroupNormalization")
    if kind == "InstanceNormalization":
        g.put(kind, [x, g.weight(c), g.weight(c)])
    elif kind == "GroupNormalization":
        g.put(kind, [x, g.weight(c), g.weight(c)], num_groups=2 if c % 2 == 0 else 1)
    elif kind == "LRN":
        g.put(kind, [x], size=3)
    elif kind == "LayerNormalization":
        g.put(kind, [x, g.weight(g.values[x].shape[-1])])
    else:
        g.put(kind, [x], axis=g.int(-spatial(g, x) - 2, spatial(g, x) + 1))


def cut(g: Images) -> None:
    x = g.image()
    axis, rank = g.int(0, spatial(g, x) + 1), spatial(g, x) + 2
    size = g.values[x].shape[axis]
    if g.rng.random() < 0.5:
        g.put("Slice", [x, g.list(g.int(0, size - 1)), g.list(g.some(size, -1)), g.list(axis - g.some(0, rank)), g.list(1)])
    elif size > 1:
        part = g.int(1, size - 1)
        g.put("Split", [x, g.list(part, size - part)], 2, axis=axis - g.some(0, rank))


def pad(g: Images) -> None:
    x = g.image()
    pads = [0, 0] + [g.int(0, 2) for _ in range(spatial(g, x))]
    value = [g.new(np.array(g.some(0.0, 0.0, 1.5), np.float32), constant=True)] if g.rng.random() < 0.7 else []
    g.put("Pad", [x, g.list(*pads, *pads), *value], mode=g.some("constant", "constant", "edge", "reflect"))


def resize(g: Images) -> None:
    x = g.image(4)
    # Whole factors: of others runtimes round the size in ways of their own.
    scales = g.new(np.array([1, 1, g.int(1, 3), g.int(1, 2)], np.float32), constant=True)
    g.put("Resize", [x, "", scales], mode=g.some("nearest", "linear"),
          coordinate_transformation_mode=g.some("asymmetric", "half_pixel", "align_corners"))  # fmt: skip


def reduce(g: Images) -> None:
    x = g.image()
    axes = [a for a in range(g.values[x].ndim) if g.rng.random() < 0.5] or [1]
    if g.rng.random() < 0.3:
        # Nearly equal elements: another rounding before would choose another of them.
        ordered = np.sort(g.values[x], axis=axes[0])
        if ordered.shape[axes[0]] > 1 and np.diff(ordered, axis=axes[0]).min() < 1e-3 * np.abs(ordered).max():
            return
        g.put(g.some("ArgMax", "ArgMin"), [x], axis=axes[0], keepdims=g.some(0, 1))
    else:
        g.put(g.some("ReduceMean", "ReduceMax", "ReduceL2"), [x, g.list(*axes)], keepdims=g.some(0, 1))


def shape(g: Images) -> None:
    x = g.image()
    n, c, *rest = g.values[x].shape
    kind = g.some("join", "flatten", "drop", "widen", "move", "blocks")
    if kind == "join":
        g.put("Reshape", [x, g.list(0, c, -1)])
    elif kind == "flatten":
        g.put("Flatten", [x], axis=g.int(0, 3))
    elif kind == "drop":
        g.put("Squeeze", [x, g.list(*[a for a, d in enumerate(g.values[x].shape) if d == 1])])
    elif kind == "widen" and len(rest) == 1:
        g.put("Unsqueeze", [x, g.list(g.int(0, 3))])
    elif kind == "move":
        g.put("Transpose", [x], perm=[int(a) for a in g.rng.permutation(len(rest) + 2)])
    elif kind == "blocks" and len(rest) == 2:
        g.put(g.some("DepthToSpace", "SpaceToDepth"), [x], blocksize=2)


def quantize(g: Images) -> None:
    x = g.inputs[0]  # exact: a rounding before would become a step
    c, axis = g.values[x].shape[1], g.some(1, 1 - g.values[x].ndim)
    scale = g.new(np.full([c], 0.05, np.float32), constant=True)
    zero = g.new(np.full([c], 128, np.uint8), constant=True)
    if g.add("QuantizeLinear", [x, scale, zero], {"axis": axis}):
        g.put("DequantizeLinear", [g.nodes[-1].output[0], scale, zero], axis=axis)


STEPS = [conv] * 6 + [conv_transpose, batch_norm, batch_norm, per_channel, per_channel, broadcast, join, unary, unary, pool,
                      norm, cut, pad, resize, reduce, shape, shape, quantize]  # fmt: skip


def build(seed: int) -> Images:
    g = Images(seed)
    sizes = (g.int(1, 2), g.some(1, 3, 8), g.int(6, 12), *([g.int(6, 12)] if g.rng.random() < 0.8 else []))
    g.live.append(g.new(g.rng.standard_normal(sizes).astype(np.float32), constant=False))
    if g.rng.random() < 0.3:  # as exporters of other frameworks begin
        g.put("Transpose", [g.live[0]], perm=[0, len(sizes) - 1, *range(1, len(sizes) - 1)])
    conv(g)
    for _ in range(g.int(3, 14)):
        try:
            g.some(*STEPS)(g)
        except ValueError:  # no value of that rank
            continue
        # Values grow without bound otherwise, and sizes with them.
        g.live = [n for n in g.live if np.isfinite(g.values[n]).all() and 0 < g.values[n].size < 50000
                  and np.abs(g.values[n]).max() < 1e4]  # fmt: skip
        if not g.live:
            break
    return g


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="graphs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--to", default="grouped", help="run the passes up to this phase; `run` compiles and runs instead")
    options = parser.parse_args()
    driver = CliDriver() if options.to == "run" else Interpreter(options.to)
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        g = build(seed)
        read = {name for node in g.nodes for name in node.input}
        outputs = {n: g.values[n] for node in g.nodes for n in node.output if n not in read}
        model = make_model(g.nodes, {n: g.values[n] for n in g.inputs}, {n: g.values[n] for n in g.weights}, outputs)
        if text := check(driver, model, {n: g.values[n] for n in g.inputs}, outputs):
            failures += 1
            print(f"seed {seed}: {text} [{' '.join(node.op_type for node in g.nodes)}]", flush=True)
    print(f"{options.count} graphs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
