"""./dev setup: Debian packages and the Python environment. Does only what is missing."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from common import BUILD, ROOT, VENV, Failure, environment, run, say, venv_python

PACKAGES = ROOT / "tools" / "dev" / "packages.txt"
REQUIREMENTS = ROOT / "requirements.txt"


def setup(full: bool = False, quiet: bool = False) -> None:
    changed = _install_packages(full)
    changed |= _make_venv()
    if not changed and not quiet:
        say("setup: nothing to do")


def _wanted(full: bool) -> list[str]:
    names, section = [], ""
    for line in PACKAGES.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line and (not section or full):
            names.append(line)
    return names


def _missing(names: list[str]) -> list[str]:
    query = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}${Package}\n", *names],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    present = {line[3:] for line in query.stdout.splitlines() if line.startswith("ii")}
    return [name for name in names if name not in present]


def _install_packages(full: bool) -> bool:
    if not shutil.which("dpkg-query"):
        raise Failure("setup needs Debian 12 or a system with its packages: dpkg-query was not found")
    missing = _missing(_wanted(full))
    if not missing:
        return False
    say(f"setup: installing {len(missing)} Debian packages: {' '.join(missing)}")
    root = [] if os.geteuid() == 0 else ["sudo", "--non-interactive" if not sys.stdin.isatty() else "--"]
    if root and not shutil.which("sudo"):
        raise Failure(f"setup needs root for: apt-get install {' '.join(missing)}")
    env = ["env", "DEBIAN_FRONTEND=noninteractive"]
    install = [*root, *env, "apt-get", "install", "-y", "--no-install-recommends", *missing]
    log = BUILD / "log" / "apt.log"
    # Package lists that are absent or old make the first try fail; then, and only then, they are fetched.
    if run(install, "apt-get install", 1800, log=log, fail=False):
        say("setup: fetching the package lists, then trying again")
        run([*root, *env, "apt-get", "update"], "apt-get update", 600, log=BUILD / "log" / "apt-update.log")
        run(install, "apt-get install", 1800, log=log)
    left = _missing(missing)
    if left:
        raise Failure(f"apt-get said yes, but these are still missing: {' '.join(left)}")
    return True


def _make_venv() -> bool:
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    stamp = VENV / "requirements.sha256"
    if stamp.is_file() and stamp.read_text() == key and venv_python().exists():
        return False
    say("setup: Python environment in build/venv (numpy, onnx, onnxruntime, pytest and others, pinned)")
    if not venv_python().exists():
        run([sys.executable, "-m", "venv", VENV], "python3 -m venv", 300, log=BUILD / "log" / "venv.log")
    pip = [venv_python(), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--requirement"]
    run([*pip, REQUIREMENTS], "pip install", 1800, log=BUILD / "log" / "pip.log", env=environment())
    stamp.write_text(key)
    return True


def site_packages() -> Path:
    found = sorted((VENV / "lib").glob("python3*/site-packages"))
    if not found:
        raise Failure("the Python environment is missing; run ./dev setup")
    return found[0]
