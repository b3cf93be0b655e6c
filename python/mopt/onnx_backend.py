"""mopt behind onnx's backend interface, which onnx's own tests and other tools speak.

>>> import mopt.onnx_backend
>>> mopt.onnx_backend.run_model(model, [x])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

import mopt

# Types that travel as integers with the same bits.
_CARRIED = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8_e8m0": ml_dtypes.float8_e8m0fnu,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float4_e2m1": ml_dtypes.float4_e2m1fn,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
    "int2": ml_dtypes.int2,
    "uint2": ml_dtypes.uint2,
}


def restore(array: np.ndarray, dtype: str) -> np.ndarray:
    """The array with the type that the model names, where mopt hands out a carrier."""
    return array.view(_CARRIED[dtype]) if dtype in _CARRIED else array


class MoptRep(BackendRep):
    def __init__(self, model: mopt.Model) -> None:
        self.model = model
        self._inputs = [info.name for info in model.inputs]
        self._outputs = [(info.name, info.dtype) for info in model.outputs]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """inputs: {name: array}, or arrays in the order of the model's inputs. Returns the outputs in order."""
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if not isinstance(inputs, Mapping):
            inputs = dict(zip(self._inputs, inputs, strict=True))
        results = self.model.run({name: np.asarray(value) for name, value in inputs.items()})
        values = [restore(results[name], dtype) for name, dtype in self._outputs]
        return namedtupledict("Outputs", [name for name, _ in self._outputs])(*values)


class MoptBackend(Backend):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> MoptRep:
        if not cls.supports_device(device):
            raise ValueError(f"mopt has no device {device}")
        return MoptRep(mopt.compile(model, **kwargs))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        names = [name for name in node.input if name]
        arrays = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(names, inputs, strict=True))
        infos = [
            numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()
        ]  # only for the numbers of the element types
        values = [helper.make_tensor_value_info(info.name, info.data_type, list(info.dims)) for info in infos]
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        results = [name for name in node.output if name]
        if outputs_info:
            outputs = [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape))
                for name, (dtype, shape) in zip(results, outputs_info, strict=True)
            ]
        else:
            outputs = [helper.make_empty_tensor_value_info(name) for name in results]
        graph = helper.make_graph([node], "node", values, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        return cls.run_model(model, arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0].upper() == "CPU"


prepare = MoptBackend.prepare
run_model = MoptBackend.run_model
run_node = MoptBackend.run_node
supports_device = MoptBackend.supports_device
