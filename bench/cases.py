"""What is measured: models of tools/fetch_models.py with the sizes that products use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "support"))

import kernels
import models
from options import BUILD

OVERHEAD = "call_overhead"


@dataclass
class Case:
    name: str
    model: str
    make: Callable[[np.random.Generator], dict[str, np.ndarray]]
    static: bool = False  # sizes are fixed ahead of time
    quick: bool = False  # part of --quick
    macs: int = 0  # multiply-adds of a run, where they are held against the processor's limit
    write: Callable[[Path], None] | None = None  # of a model that is made here

    def inputs(self) -> dict[str, np.ndarray]:
        return self.make(np.random.default_rng(1))

    def path(self) -> Path:
        """The model, which is written first where it is made here."""
        if not self.write:
            return models.path_of(self.model)
        path = BUILD / "bench" / "models" / f"{self.name}.onnx"
        if not path.is_file():
            self.write(path)
        return path


def _image(name: str, *shape: int) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    return lambda random: models.floats(name, random, *shape)


def _product(m: int, k: int, n: int) -> Case:
    return Case(f"gemm-{m}x{k}x{n}", "kernels", _image("x", m, k), static=True, macs=m * k * n,
                write=lambda path: kernels.product(path, m, k, n))  # fmt: skip


def _convolutions(size: int, channels: int) -> Case:
    return Case(f"conv3x3-{size}x{size}x{channels}", "kernels", _image("x", 1, channels, size, size), static=True,
                macs=kernels.CHAIN * (size * channels * 3) ** 2, write=lambda path: kernels.convolutions(path, size, channels))  # fmt: skip


CASES = [
    Case("fashion_resnet-b1", "fashion_resnet", _image("x", 1, 1, 28, 28), quick=True),
    Case("fashion_resnet-b64", "fashion_resnet", _image("x", 64, 1, 28, 28)),
    Case("magika-b1", "magika", lambda r: models.file_bytes(r, 1), quick=True),
    Case("magika-b1-static", "magika", lambda r: models.file_bytes(r, 1), static=True),
    Case("mobilenetv2-b1", "mobilenetv2", _image("x", 1, 3, 224, 224), quick=True),
    Case("mobilenetv2-b1-static", "mobilenetv2", _image("x", 1, 3, 224, 224), static=True),
    Case("mobilenetv2_folded-b1", "mobilenetv2_folded", _image("x", 1, 3, 224, 224)),
    Case("minilm-b1s16", "minilm", lambda r: models.tokens(r, 1, 16), quick=True),
    Case("minilm-b1s128", "minilm", lambda r: models.tokens(r, 1, 128)),
    Case("minilm-b1s128-static", "minilm", lambda r: models.tokens(r, 1, 128), static=True),
    Case("minilm-b8s64", "minilm", lambda r: models.tokens(r, 8, 64)),
    Case("mtcnn_pnet-12", "mtcnn_pnet", _image("input_1", 1, 12, 12, 3)),
    Case("mtcnn_pnet-120x160", "mtcnn_pnet", _image("input_1", 1, 120, 160, 3), quick=True),
    Case("mtcnn_pnet-480x640", "mtcnn_pnet", _image("input_1", 1, 480, 640, 3)),
    Case("mtcnn_rnet-b1", "mtcnn_rnet", _image("input_2", 1, 24, 24, 3)),
    Case("mtcnn_rnet-b32", "mtcnn_rnet", _image("input_2", 32, 24, 24, 3)),
    Case("mtcnn_onet-b1", "mtcnn_onet", _image("input_3", 1, 48, 48, 3)),
    Case("mtcnn_onet-b8", "mtcnn_onet", _image("input_3", 8, 48, 48, 3)),
    Case("ppocr_cls-b1", "ppocr_cls", _image("x", 1, 3, 48, 192), quick=True),
    Case("ppocr_det-160x224", "ppocr_det", lambda r: models.page(r, 1, 160, 224)),
    Case("ppocr_det-640x640", "ppocr_det", lambda r: models.page(r, 1, 640, 640)),
    Case("rxnmap-n24", "rxnmap", lambda r: models.reaction(r, 24)),
    Case("rxnmap-n61", "rxnmap", lambda r: models.reaction(r, 61)),
    _product(128, 384, 1536),
    _product(128, 1536, 384),
    _product(128, 384, 384),
    _product(16, 768, 3072),
    _product(512, 1024, 1024),
    _convolutions(56, 64),
    _convolutions(28, 128),
    _convolutions(14, 256),
]


def chosen(words: list[str], quick: bool) -> list[Case]:
    """By names of models or of cases; without words those whose models are at hand."""
    unknown = [word for word in words if not any(word in (case.name, case.model) for case in CASES)]
    if unknown:
        names = " ".join(dict.fromkeys(case.model for case in CASES))
        raise ValueError(
            f"there is no model or case {unknown[0]}; models: {names}; cases: {' '.join(c.name for c in CASES)}"
        )
    if words:
        return [case for case in CASES if case.name in words or case.model in words]
    return [case for case in CASES if (case.quick or not quick) and case.path().is_file()]


def overhead_model(path: Path) -> dict[str, np.ndarray]:
    """Writes a model that adds 1 to one number: what it takes is what a call takes. Returns its input."""
    import onnx
    from onnx import TensorProto, helper

    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1])
    one = helper.make_tensor("one", TensorProto.FLOAT, [1, 1], [1.0])
    graph = helper.make_graph([helper.make_node("Add", ["x", "one"], ["y"], name="add")], OVERHEAD, [info("x")],
                              [info("y")], [one])  # fmt: skip
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    onnx.checker.check_model(str(path))
    return {"x": np.full((1, 1), 2, np.float32)}


def in_model_order(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Some engines know inputs by number only."""
    import onnx

    names = [entry.name for entry in onnx.load(str(path), load_external_data=False).graph.input]
    return {name: inputs[name] for name in names if name in inputs}
