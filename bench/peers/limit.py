"""No engine: the processor's limit. As many multiply-adds as the case has, without reading or writing memory."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import peer

SOURCE = Path(__file__).resolve().parents[1] / "limit.c"


class Session(peer.Session):
    def __init__(self, function, macs: int) -> None:
        count = ctypes.c_int64(macs)
        self.run = lambda: function(count)

    def outputs(self):
        return []


class Peer(peer.Peer):
    note = (
        "fused multiply-adds in registers on one core, as many as the case has: no engine, but what engines are up against"
    )
    limit = True

    def start(self, threads: int) -> str:
        self.threads = threads
        return ""

    def prepare(self, work, folder):
        if not work.macs:
            raise peer.Unsupported("the multiply-adds of this case are not counted")
        files = [folder / "limit.so", folder / "macs"]
        subprocess.run([os.environ.get("CC") or "clang-22", "-O2", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC",
                        str(SOURCE), "-o", str(files[0])], check=True, timeout=120)  # fmt: skip
        files[1].write_text(str(work.macs))
        return files

    def load(self, files, threads, callers):
        if threads * callers > 1:
            raise peer.Unsupported("is measured on one core")
        self.function = ctypes.CDLL(str(files[0])).mopt_bench_limit
        self.macs = int(files[1].read_text())

    def session(self, inputs):
        return Session(self.function, self.macs)
