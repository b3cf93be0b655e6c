"""What the benchmark asks of an engine. One file of bench/peers is one engine: a class `Peer` with these functions.

All of it runs in a worker process of its own, so a peer may import, pin and print what it likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np


class Unsupported(Exception):
    """This engine cannot do this case; the text says why and is shown in place of figures."""


@dataclass
class Work:
    """What an engine is to get ready for. Engines that know no dynamic shapes always use those of the inputs."""

    model: Path  # ONNX
    inputs: Mapping[str, np.ndarray]  # in the order of the model's inputs
    static: bool  # fix all sizes ahead of time; otherwise the model keeps the symbols that it has
    macs: int = 0  # multiply-adds of a run; 0: not counted


class Session:
    """What one caller holds. Its inputs are set once; a run reads them from where they are."""

    def run(self) -> None:
        raise NotImplementedError

    def outputs(self) -> list[np.ndarray]:
        """Of the last run, in the order of the model's outputs. Not timed."""
        raise NotImplementedError


class Peer:
    note = ""  # what a reader of the figures has to know about this engine
    limit = False  # it is no engine but the processor's limit, and has no outputs

    def start(self, threads: int) -> str:
        """Imports the engine, after setting what it reads at that time. Returns its version."""
        raise NotImplementedError

    def prepare(self, work: Work, folder: Path) -> list[Path]:
        """Ahead of time: writes what a product would ship into `folder`; returns those files."""
        raise NotImplementedError

    def load(self, files: list[Path], threads: int, callers: int) -> None:
        """`threads` work on one run, `callers` sessions run at the same time; one of the two is 1."""
        raise NotImplementedError

    def session(self, inputs: Mapping[str, np.ndarray]) -> Session:
        """Inputs are aligned to 64 bytes and stay where they are. Called once for each caller."""
        raise NotImplementedError
