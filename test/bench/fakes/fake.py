"""An engine for the tests: doubles its input. The files beside it are variants with one fault each."""

import numpy as np
import peer


class Session(peer.Session):
    def __init__(self, inputs):
        self.inputs, self.runs = inputs, 0

    def run(self):
        self.runs += 1
        self.results = [np.array(value) * 2 for value in self.inputs.values()]

    def outputs(self):
        return self.results


class Peer(peer.Peer):
    note = "a fake"

    def start(self, threads):
        print("a line that an engine prints")
        return "1.0"

    def prepare(self, work, folder):
        (folder / "model.bin").write_bytes(b"12345")
        return [folder / "model.bin"]

    def load(self, files, threads, callers):
        assert all(file.is_file() for file in files)

    def session(self, inputs):
        return Session(inputs)
