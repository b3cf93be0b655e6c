"""MiniLM-L6, a BERT encoder of 22.7 M weights, written node for node as PyTorch 1.13 exports it at opset 14.

Nothing is fused: LayerNorm, GELU and attention are in primitive ops, Q, K and V are three MatMuls, and each reshape to
and from heads computes its shape at run time. To recover the big ops is the work of the compiler under test.
"""

from __future__ import annotations

import math

import numpy as np
from graph import Graph
from weights import safetensors

HEADS = 12
EPSILON = 1e-12
OPSET = 14


def build(raw: bytes) -> bytes:
    """Builds the model from the bytes of model.safetensors."""
    return _Encoder(safetensors(raw)).model()


class _Encoder:
    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.w = weights
        self.g = Graph()
        self.hidden = weights["embeddings.word_embeddings.weight"].shape[1]
        self.layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})

    def model(self) -> bytes:
        tokens = (np.int64, ["batch", "seq"])
        mask = self.additive_mask()
        with self.g.scope("embeddings"):
            x = self.embeddings()
        for i in range(self.layers):
            x = self.layer(f"encoder.layer.{i}", x, mask, output="last_hidden_state" if i == self.layers - 1 else None)
        return self.g.model(
            "minilm",
            inputs={"input_ids": tokens, "attention_mask": tokens, "token_type_ids": tokens},
            outputs={"last_hidden_state": (np.float32, ["batch", "seq", self.hidden])},
            opset=OPSET,
        )

    def additive_mask(self) -> str:
        """[batch, seq] of 1 (look) and 0 (ignore) -> [batch, 1, 1, seq] of 0 and the lowest float."""
        g = self.g
        x = g.add("Unsqueeze", "attention_mask", g.constant([1], np.int64))
        x = g.add("Unsqueeze", x, g.constant([2], np.int64))
        x = g.add("Cast", x, to=1)
        x = g.add("Sub", g.constant(1, np.float32), x)
        return g.add("Mul", x, g.constant(np.finfo(np.float32).min, np.float32))

    def embeddings(self) -> str:
        g = self.g
        length = self.dimension("input_ids", 1)
        positions = g.constant(self.w["embeddings.position_ids"], np.int64)
        zero = g.constant([0], np.int64)
        length = g.add("Unsqueeze", length, g.constant([0], np.int64))
        one = g.constant([1], np.int64)
        positions = g.add("Slice", positions, zero, length, one, g.constant([1], np.int64))
        x = g.add(
            "Add",
            g.add("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids"),
            g.add("Gather", self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"),
        )
        x = g.add("Add", x, g.add("Gather", self.weight("embeddings.position_embeddings.weight"), positions))
        return self.layer_norm("embeddings.LayerNorm", x)

    def layer(self, name: str, x: str, mask: str, output: str | None) -> str:
        with self.g.scope(name):
            with self.g.scope("attention"):
                attended = self.attention(f"{name}.attention.self", x, mask)
                attended = self.linear(f"{name}.attention.output.dense", attended)
                x = self.layer_norm(f"{name}.attention.output.LayerNorm", self.g.add("Add", attended, x))
            with self.g.scope("intermediate"):
                inner = self.gelu(self.linear(f"{name}.intermediate.dense", x))
            with self.g.scope("output"):
                inner = self.linear(f"{name}.output.dense", inner)
                return self.layer_norm(f"{name}.output.LayerNorm", self.g.add("Add", inner, x), output)

    def attention(self, name: str, x: str, mask: str) -> str:
        g, depth = self.g, self.hidden // HEADS
        q = self.linear(f"{name}.query", x)
        k = self.reshape(self.linear(f"{name}.key", x), HEADS, depth)
        v = self.reshape(self.linear(f"{name}.value", x), HEADS, depth)
        v = g.add("Transpose", v, perm=[0, 2, 1, 3])
        q = g.add("Transpose", self.reshape(q, HEADS, depth), perm=[0, 2, 1, 3])
        k = g.add("Transpose", k, perm=[0, 2, 3, 1])
        scores = g.add("MatMul", q, k)
        scores = g.add("Div", scores, g.constant(math.sqrt(depth), np.float32))
        scores = g.add("Softmax", g.add("Add", scores, mask), axis=-1)
        x = g.add("Transpose", g.add("MatMul", scores, v), perm=[0, 2, 1, 3])
        return self.reshape(x, self.hidden)

    def reshape(self, x: str, *tail: int) -> str:
        """Keeps the two leading axes, which are known at run time only, and gives the rest the shape `tail`."""
        g = self.g
        lead = [self.dimension(x, axis) for axis in (0, 1)]
        lead = [g.add("Unsqueeze", size, g.constant([0], np.int64)) for size in lead]
        shape = g.add("Concat", *lead, *(g.constant([size], np.int64) for size in tail), axis=0)
        return g.add("Reshape", x, shape, allowzero=0)

    def dimension(self, x: str, axis: int) -> str:
        return self.g.add("Gather", self.g.add("Shape", x), self.g.constant(axis, np.int64), axis=0)

    def linear(self, name: str, x: str) -> str:
        # The exporter folds the transpose of torch.nn.Linear into the weight.
        with self.g.scope(name.rsplit(".", 1)[1]):
            x = self.g.add("MatMul", x, self.g.weight(f"{name}.weight.T", self.w[f"{name}.weight"].T))
            return self.g.add("Add", self.weight(f"{name}.bias"), x)

    def layer_norm(self, name: str, x: str, output: str | None = None) -> str:
        g = self.g
        with g.scope("LayerNorm"):
            x = g.add("Sub", x, g.add("ReduceMean", x, axes=[-1]))
            variance = g.add("ReduceMean", g.add("Pow", x, g.constant(2, np.float32)), axes=[-1])
            deviation = g.add("Sqrt", g.add("Add", variance, g.constant(EPSILON, np.float32)))
            x = g.add("Mul", g.add("Div", x, deviation), self.weight(f"{name}.weight"))
            return g.add("Add", x, self.weight(f"{name}.bias"), output=output)

    def gelu(self, x: str) -> str:
        g = self.g
        with g.scope("gelu"):
            y = g.add("Erf", g.add("Div", x, g.constant(math.sqrt(2), np.float32)))
            y = g.add("Mul", x, g.add("Add", y, g.constant(1, np.float32)))
            return g.add("Mul", y, g.constant(0.5, np.float32))

    def weight(self, name: str) -> str:
        return self.g.weight(name, self.w[name])
