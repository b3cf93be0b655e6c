"""Single kernels of known work, as small models: what a matrix product or a convolution reaches of the processor's limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CHAIN = 8  # convolutions one after the other, so that reordering the image at the ends does not count


def _save(path: Path, nodes, x, y, weights) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    info = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, path.stem, [info("x", x)], [info("y", y)], constants)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def product(path: Path, m: int, k: int, n: int) -> None:
    """y[m,n] = x[m,k] w[k,n]"""
    from onnx import helper

    weights = np.random.default_rng(1).standard_normal((k, n), np.float32) / np.float32(k**0.5)
    _save(path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], (m, k), (m, n), {"w": weights})


def convolutions(path: Path, size: int, channels: int) -> None:
    """CHAIN convolutions 3x3 of [1,channels,size,size], each with weights of its own."""
    from onnx import helper

    random, nodes, weights = np.random.default_rng(1), [], {}
    for index in range(CHAIN):
        name, last = f"w{index}", index + 1 == CHAIN
        weights[name] = random.standard_normal((channels, channels, 3, 3), np.float32) / np.float32((9 * channels) ** 0.5)
        nodes.append(helper.make_node("Conv", [f"t{index}" if index else "x", name], ["y" if last else f"t{index + 1}"],
                                      name=f"conv{index}", pads=[1, 1, 1, 1]))  # fmt: skip
    shape = (1, channels, size, size)
    _save(path, nodes, shape, shape, weights)
