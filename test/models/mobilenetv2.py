"""MobileNetV2 (width 1.0, ImageNet-1k) from torchvision's weights, opset 13."""

from __future__ import annotations

import numpy as np
from graph import Graph
from weights import torch_state_dict

BATCH_NORM_EPSILON = 1e-5
OPSET = 13

# (expansion, repeats, stride of the first repeat), as in table 2 of the paper. Channels come with the weights.
BLOCKS = [(1, 1, 1), (6, 2, 2), (6, 3, 2), (6, 4, 2), (6, 3, 1), (6, 3, 2), (6, 1, 1)]


def build(raw: bytes, fold: bool = False) -> bytes:
    """Builds the model from the bytes of the state dict.

    fold=False keeps every BatchNormalization as a node of its own, so that the compiler has to fold it.
    fold=True folds it into the convolution before, as PyTorch's exporter does in eval mode.
    """
    return _MobileNet(torch_state_dict(raw), fold).model()


class _MobileNet:
    def __init__(self, weights: dict[str, np.ndarray], fold: bool) -> None:
        self.w = weights
        self.fold = fold
        self.g = Graph()

    def model(self) -> bytes:
        g = self.g
        x = self.relu6("features.0", self.conv("features.0.0", "features.0.1", "x", stride=2, pad=1))
        index = 1
        for expansion, repeats, stride in BLOCKS:
            for i in range(repeats):
                x = self.block(f"features.{index}.conv", x, expansion, stride if i == 0 else 1, residual=i > 0)
                index += 1
        last = f"features.{index}"
        x = self.relu6(last, self.conv(f"{last}.0", f"{last}.1", x))
        x = g.add("Flatten", g.add("GlobalAveragePool", x), axis=1)
        head = [self.weight(f"classifier.1.{part}") for part in ("weight", "bias")]
        g.add("Gemm", x, *head, alpha=1.0, beta=1.0, transB=1, output="logits")
        return g.model(
            "mobilenetv2",
            inputs={"x": (np.float32, ["n", 3, 224, 224])},
            outputs={"logits": (np.float32, ["n", len(self.w["classifier.1.bias"])])},
            opset=OPSET,
        )

    def block(self, name: str, x: str, expansion: int, stride: int, residual: bool) -> str:
        """Inverted residual: widen 1x1, depthwise 3x3, narrow 1x1 with no activation."""
        y, part = x, 0
        if expansion != 1:
            y = self.relu6(f"{name}.0", self.conv(f"{name}.0.0", f"{name}.0.1", y))
            part = 1
        y = self.conv(f"{name}.{part}.0", f"{name}.{part}.1", y, stride=stride, pad=1, depthwise=True)
        y = self.relu6(f"{name}.{part}", y)
        y = self.conv(f"{name}.{part + 1}", f"{name}.{part + 2}", y)
        if not residual:
            return y
        with self.g.scope(name):
            return self.g.add("Add", x, y)

    def conv(self, conv: str, norm: str, x: str, stride: int = 1, pad: int = 0, depthwise: bool = False) -> str:
        """Convolution and batch normalization; the two arguments are the names of their weights."""
        kernel = self.w[f"{conv}.weight"]
        parameters = [f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        attributes = {
            "dilations": [1, 1],
            "group": len(kernel) if depthwise else 1,
            "kernel_shape": list(kernel.shape[2:]),
            "pads": [pad] * 4,
            "strides": [stride] * 2,
        }
        if self.fold:
            # In float64, so that the one rounding is the last step.
            gamma, beta, mean, variance = (self.w[p].astype(np.float64) for p in parameters)
            scale = gamma / np.sqrt(variance + BATCH_NORM_EPSILON)
            folded = (kernel * scale[:, None, None, None]).astype(np.float32)
            bias = (beta - mean * scale).astype(np.float32)
            inputs = [self.g.weight(f"{conv}.weight", folded), self.g.weight(f"{conv}.bias", bias)]
            with self.g.scope(conv):
                return self.g.add("Conv", x, *inputs, **attributes)
        with self.g.scope(conv):
            x = self.g.add("Conv", x, self.weight(f"{conv}.weight"), **attributes)
        with self.g.scope(norm):
            names = [self.weight(p) for p in parameters]
            return self.g.add("BatchNormalization", x, *names, epsilon=BATCH_NORM_EPSILON, momentum=0.9)

    def relu6(self, name: str, x: str) -> str:
        with self.g.scope(name):
            return self.g.add("Clip", x, self.g.constant(0, np.float32), self.g.constant(6, np.float32))

    def weight(self, name: str) -> str:
        return self.g.weight(name, self.w[name])
