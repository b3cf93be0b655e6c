"""The models of the tests: where they are, and inputs for them in several shapes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("MOPT_MODELS") or Path.home() / ".cache" / "mopt" / "models")


def path_of(name: str) -> Path:
    return ROOT / "test" / "models" / "fashion_resnet.onnx" if name == "fashion_resnet" else FOLDER / f"{name}.onnx"


def tokens(random: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    mask = np.ones((batch, length), np.int64)
    for row in range(batch):  # rows of different length, as a padded batch has them
        mask[row, max(1, length - row * length // (2 * batch)) :] = 0
    return {
        "input_ids": random.integers(0, 30000, (batch, length)) * mask,
        "attention_mask": mask,
        "token_type_ids": np.zeros((batch, length), np.int64),
    }


def reaction(random: np.random.Generator, length: int) -> dict[str, np.ndarray]:
    return {
        "atoms": random.integers(0, 121, (1, length)),
        "neighbors": random.integers(0, 17, (1, length)),
        "distances": random.integers(0, 13, (1, length, length)),
        "roles": random.integers(0, 4, (1, length)),
    }


def file_bytes(random: np.random.Generator, batch: int) -> dict[str, np.ndarray]:
    """Every second row ends early, as the bytes of a small file do."""
    values = random.integers(0, 256, (batch, 2048), np.int32)
    values[::2, 700:1500] = 256
    return {"bytes": values}


def floats(name: str, random: np.random.Generator, *shape: int, low: float = -1, high: float = 1) -> dict[str, np.ndarray]:
    return {name: random.uniform(low, high, shape).astype(np.float32)}


def page(random: np.random.Generator, batch: int, height: int, width: int) -> dict[str, np.ndarray]:
    """Dark strokes in lines on white, which a text detector answers: on noise all its outputs are below 1e-6, where
    onnxruntime's sigmoid is off by 1e-7 and nothing can be compared."""
    x = np.ones((batch, 1, height, width), np.float32)
    for row in x[:, 0]:
        for top in range(12, height - 12, 24):
            for left in range(8, width - 14, 11):
                for _ in range(3):
                    down, across = random.integers(0, 10), random.integers(0, 7)
                    if random.random() < 0.5:
                        row[top : top + 12, left + across : left + across + 2] = -1
                    else:
                        row[top + down : top + down + 2, left : left + 8] = -1
    return {"x": np.repeat(x, 3, axis=1)}


# name: one function of a random generator a shape. The first has one row; the last is the largest.
SHAPES = {
    "fashion_resnet": [lambda r, n=n: floats("x", r, n, 1, 28, 28, low=0) for n in (1, 3, 16)],
    "magika": [lambda r, n=n: file_bytes(r, n) for n in (1, 2, 7)],
    "mtcnn_pnet": [lambda r, s=s: floats("input_1", r, *s, 3) for s in ((1, 12, 12), (2, 37, 50), (1, 64, 81))],
    "mtcnn_rnet": [lambda r, n=n: floats("input_2", r, n, 24, 24, 3) for n in (1, 3, 10)],
    "mtcnn_onet": [lambda r, n=n: floats("input_3", r, n, 48, 48, 3) for n in (1, 3, 5)],
    "ppocr_cls": [lambda r, n=n: floats("x", r, n, 3, 48, 192) for n in (1, 2, 6)],
    "ppocr_det": [lambda r, s=s: page(r, *s) for s in ((1, 64, 64), (2, 96, 160), (1, 160, 224))],
    "mobilenetv2": [lambda r, n=n: floats("x", r, n, 3, 224, 224, low=-2, high=2) for n in (1, 2, 3)],
    "mobilenetv2_folded": [lambda r, n=n: floats("x", r, n, 3, 224, 224, low=-2, high=2) for n in (1, 2, 3)],
    "minilm": [lambda r, s=s: tokens(r, *s) for s in ((1, 7), (3, 16), (2, 65))],
    "rxnmap": [lambda r, n=n: reaction(r, n) for n in (5, 24, 61)],
}

# Input axes that are a batch: each row alone must give the bits that it gives among others.
BATCHED = {
    "fashion_resnet",
    "magika",
    "mtcnn_rnet",
    "mtcnn_onet",
    "ppocr_cls",
    "mobilenetv2",
    "mobilenetv2_folded",
    "minilm",
}


def inputs_of(name: str) -> list[dict[str, np.ndarray]]:
    return [make(np.random.default_rng(index + 1)) for index, make in enumerate(SHAPES[name])]
