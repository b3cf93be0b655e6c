"""onnxruntime, the engine that the others are held against: I/O binding, no copy of inputs."""

from __future__ import annotations

import peer


class Session(peer.Session):
    def __init__(self, session, inputs) -> None:
        self.session, self.binding = session, session.io_binding()
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        for output in session.get_outputs():
            self.binding.bind_output(output.name)
        self.run = lambda: session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class Peer(peer.Peer):
    note = "ships the ONNX file; its load time includes the optimization of the graph"

    def start(self, threads: int) -> str:
        import onnxruntime

        self.library = onnxruntime
        return onnxruntime.__version__

    def prepare(self, work, folder):
        return [work.model]

    def load(self, files, threads, callers):
        options = self.library.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.engine = self.library.InferenceSession(str(files[0]), options, providers=["CPUExecutionProvider"])

    def session(self, inputs):
        return Session(self.engine, inputs)
