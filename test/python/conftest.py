"""Where the build put things: $MOPT_BUILD/release, else build/release."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def release() -> Path:
    return Path(os.environ.get("MOPT_BUILD", ROOT / "build")) / "release"


@pytest.fixture
def toy(release: Path) -> Path:
    """y = max(x * [1, 2, 3, 4] + 1, 0) for x of [n, 4]: an artifact made by hand for the tests of the runtime."""
    path = release / "test" / "Runtime" / "artifacts" / "toy.so"
    if not path.is_file():
        pytest.skip(f"{path} was not built")
    return path


@pytest.fixture(scope="session")
def resnet() -> Path:
    return ROOT / "test" / "models" / "fashion_resnet.onnx"
