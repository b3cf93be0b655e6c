from collections.abc import Sequence
from os import PathLike

import numpy

runtime_version: str

class TensorInfo:
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int | str, ...]: ...

class Model:
    @property
    def inputs(self) -> list[TensorInfo]: ...
    @property
    def outputs(self) -> list[TensorInfo]: ...
    @property
    def manifest(self) -> bytes: ...
    @property
    def runs_here(self) -> bool: ...
    @property
    def variants(self) -> list[str]: ...
    def run(self, inputs: dict[str, numpy.ndarray], variant: str = "") -> dict[str, numpy.ndarray]: ...
    def save(self, path: str | PathLike[str]) -> None: ...

def load(path: str | PathLike[str], threads: int = 1, verify: bool = False) -> Model: ...
def compile_file(
    path: str,
    shapes: Sequence[tuple[str, Sequence[int]]],
    triple: str,
    cpu: str,
    threads: int,
    tiles: Sequence[tuple[int, int]],
) -> Model: ...
def compile_bytes(
    model: bytes,
    shapes: Sequence[tuple[str, Sequence[int]]],
    triple: str,
    cpu: str,
    threads: int,
    tiles: Sequence[tuple[int, int]],
) -> Model: ...
