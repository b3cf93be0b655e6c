"""OpenVINO on the CPU, in float32 throughout (its default would be bfloat16 where the processor has it)."""

from __future__ import annotations

import peer


class Session(peer.Session):
    def __init__(self, library, request, inputs) -> None:
        self.request = request
        for name, value in inputs.items():
            request.set_tensor(name, library.Tensor(value, shared_memory=True))
        self.run = lambda: request.infer(share_outputs=True)

    def outputs(self):
        return [tensor.data.copy() for tensor in self.request.output_tensors]


class Peer(peer.Peer):
    note = "ships its own format (.xml, .bin) and compiles it when it loads"

    def start(self, threads: int) -> str:
        import openvino

        self.library = openvino
        return openvino.__version__.split("-")[0]

    def prepare(self, work, folder):
        model = self.library.Core().read_model(str(work.model))
        if work.static:
            model.reshape({name: list(value.shape) for name, value in work.inputs.items()})
        self.library.save_model(model, str(folder / "model.xml"), compress_to_fp16=False)
        return [folder / "model.xml", folder / "model.bin"]

    def load(self, files, threads, callers):
        options = {
            "INFERENCE_NUM_THREADS": threads * callers,
            "NUM_STREAMS": callers,
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        }
        self.engine = self.library.Core().compile_model(str(files[0]), "CPU", options)

    def session(self, inputs):
        return Session(self.library, self.engine.create_infer_request(), inputs)
