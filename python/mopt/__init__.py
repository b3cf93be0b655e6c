"""mopt compiles ONNX models, ahead of time, into small native artifacts.

>>> import mopt, numpy
>>> model = mopt.compile("model.onnx")             # or bytes, or an onnx.ModelProto
>>> model.inputs
[TensorInfo(name='x', dtype='float32', shape=('n', 3, 224, 224))]
>>> model.run({"x": numpy.zeros((1, 3, 224, 224), numpy.float32)})["logits"].shape
(1, 1000)
>>> model.save("model.so")                         # later: mopt.load("model.so", threads=2)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _core
from ._core import Model, TensorInfo, load
from .errors import MoptError

__all__ = ["Model", "MoptError", "TensorInfo", "compile", "load"]
__version__ = "0.1.0"


def compile(
    model,
    *,
    shapes: Mapping[str, Sequence[int | str | None]] | None = None,
    triple: str = "",
    cpu: str = "",
    threads: int = 1,
    tiles: Sequence[tuple[int, int]] = (),
) -> Model:
    """Compiles a model and loads it.

    model    a path, the bytes of a model file, or an onnx.ModelProto
    shapes   sizes of inputs by name; None or a name keeps an axis as the model has it
    triple   the target, as "aarch64-linux-gnu"; default: this machine
    cpu      "native" (the default for this machine), "x86-64-v2", "x86-64-v3", "x86-64-v4", ...
    threads  of the pool that runs use; 0: all processors. Results do not depend on it
    tiles    register tiles (rows, panels of 16 columns): each adds a variant "tile_RxP" to the steps that have tiles, for
             run(inputs, variant=...); results do not depend on them

    A model for another machine (`runs_here` is False) has inputs, outputs and a manifest and can be saved; run() raises
    MoptError MOPT-R016 or MOPT-R017.

    >>> mopt.compile("model.onnx", triple="aarch64-linux-gnu").save("model-aarch64.so")
    """
    given = [(name, [size if isinstance(size, int) else -1 for size in sizes]) for name, sizes in (shapes or {}).items()]
    if isinstance(model, str | os.PathLike):
        return _core.compile_file(os.fspath(model), given, triple, cpu, threads, list(tiles))
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    return _core.compile_bytes(model, given, triple, cpu, threads, list(tiles))
