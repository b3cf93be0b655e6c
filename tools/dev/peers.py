"""Python environment of ./dev bench: build/bench-venv, with the engines that the run asks for."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from common import BUILD, ROOT, Failure, environment, run, say

VENV = BUILD / "bench-venv"
REQUIREMENTS = ROOT / "bench" / "requirements.txt"
BASE = "base"


def python() -> Path:
    return VENV / "bin" / "python"


def sections(text: str) -> dict[str, list[str]]:
    """{"openvino": ["openvino==..."]} of lines `# [openvino]` and the pins that follow."""
    found, current = {}, None
    for line in text.splitlines():
        if line.startswith("# [") and line.rstrip().endswith("]"):
            current = found.setdefault(line.strip("# []\n"), [])
        elif line.strip() and not line.startswith("#") and current is not None:
            current.append(line.strip())
    return found


def install(peers: list[str]) -> dict[str, str]:
    """Installs what is missing. Returns the peers that could not be installed, with the reason."""
    pins = sections(REQUIREMENTS.read_text())
    if not python().exists():
        run([sys.executable, "-m", "venv", VENV], "python3 -m venv", 300, log=BUILD / "log" / "bench-venv.log")
    _section(BASE, pins[BASE])
    failed = {}
    for name in peers:
        try:
            _section(name, pins.get(name, []))
        except Failure as failure:
            failed[name] = f"did not install: {failure}"
            say(f"bench: {name} is left out, it {failed[name]}")
    return failed


def _section(name: str, pins: list[str]) -> None:
    text = "\n".join(pins) + "\n"
    key = hashlib.sha256((text + sys.version).encode()).hexdigest()
    stamp = VENV / f"{name}.sha256"
    if not pins or stamp.is_file() and stamp.read_text() == key:
        return
    wanted, log = VENV / f"{name}.txt", BUILD / "log" / f"bench-{name}.log"
    wanted.write_text(text)
    say(f"bench: installing {' '.join(pins)} in {VENV}")
    pip = [python(), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-deps", "--quiet"]
    if run([*pip, "--requirement", wanted], f"pip install of {name}", 1800, log=log, env=environment(), fail=False):
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("ERROR")]
        raise Failure(lines[-1].removeprefix("ERROR: ")[:200] if lines else f"pip failed, see {log}")
    stamp.write_text(key)
