"""The state of the machine while something is measured, and whether its cores are ours."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from pathlib import Path

from driver import TOGETHER_LIMIT, Effort, Worker

CPU = Path("/sys/devices/system/cpu")
ROUNDS_SECONDS = 0.01  # one calibration loop
SAMPLES = 5


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _cpuinfo(field: str) -> str | None:
    for line in (_read(Path("/proc/cpuinfo")) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def usable_cores() -> list[int]:
    """One logical processor of each core that this process may use."""
    cores, seen = [], set()
    for number in sorted(os.sched_getaffinity(0)):
        siblings = _read(CPU / f"cpu{number}" / "topology" / "thread_siblings_list") or str(number)
        if siblings not in seen:
            seen.add(siblings)
            cores.append(number)
    return cores


def heat_count() -> int | None:
    """Times that processors slowed down because of heat, since the machine started."""
    counts = [_read(path) for path in CPU.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    return sum(int(count) for count in counts if count) if counts else None


def state() -> dict:
    """What changes from minute to minute; None where the system does not tell."""
    frequency = _read(CPU / "cpu0" / "cpufreq" / "scaling_cur_freq")
    zones = [_read(path) for path in Path("/sys/class/thermal").glob("thermal_zone*/temp")]
    return {
        "load1": os.getloadavg()[0],
        "frequency_mhz": int(frequency) / 1000 if frequency else float(_cpuinfo("cpu MHz") or 0) or None,
        "governor": _read(CPU / "cpu0" / "cpufreq" / "scaling_governor"),
        "temperature_c": max((int(zone) / 1000 for zone in zones if zone), default=None),
        "heat_count": heat_count(),
    }


def description() -> dict:
    flags = (_cpuinfo("flags") or _cpuinfo("Features") or "").split()
    wanted = ("avx", "fma", "f16c", "amx", "asimd", "sve", "i8mm", "bf16")
    memory = next((line for line in (_read(Path("/proc/meminfo")) or "").splitlines() if line.startswith("MemTotal")), "")
    return {
        "processor": _cpuinfo("model name") or platform.machine(),
        "architecture": platform.machine(),
        "features": [flag for flag in flags if flag.startswith(wanted)],
        "processors": len(os.sched_getaffinity(0)),
        "cores": len(usable_cores()),
        "memory_mb": int(memory.split()[1]) // 1024 if memory else None,
        "hypervisor": "hypervisor" in flags,
        "system": platform.platform(),
        "python": platform.python_version(),
    }


class Calibrator:
    """Two processes on two cores that run a fixed loop alone and together."""

    def __init__(self, folder: Path, cores: list[int]) -> None:
        self.cores, self.workers, self.records = cores[:2], [], []
        library = folder / "calibration.so"
        compiler = os.environ.get("CC") or "clang-22"
        subprocess.run([compiler, "-O2", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC",
                        str(Path(__file__).resolve().parent / "calibration.c"), "-o", str(library)],
                       check=True, timeout=120)  # fmt: skip
        try:
            for core in self.cores:
                worker = Worker("calibration", library, folder / "calibration.log", Effort(answer_seconds=60))
                self.workers.append(worker)
                worker.ask("pin", [core])
            self.rounds = 1000
            while (taken := self.workers[0].ask("fma", self.rounds)) < ROUNDS_SECONDS * 1e9:
                self.rounds = max(self.rounds * 2, int(self.rounds * ROUNDS_SECONDS * 1e9 / max(taken, 1)))
        except BaseException:
            self.end()
            raise

    def sample(self) -> dict:
        """{"together": slowdown, "free": whether two threads mean anything now, "alone_us": ...}"""
        alone = [[worker.ask("fma", self.rounds) for _ in range(SAMPLES)] for worker in self.workers]
        together: list[list[int]] = [[] for _ in self.workers]
        for _ in range(SAMPLES):
            for worker in self.workers:
                worker.send("fma", self.rounds)
            for row, worker in zip(together, self.workers):
                row.append(worker.receive("fma"))
        record = judged(alone, together)
        self.records.append(record)
        return record

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


def judged(alone: list[list[int]], together: list[list[int]]) -> dict:
    """Slowdown of the slower core. The fastest time alone is what the core can do: a mean would hide another process
    that slows both kinds of sample alike."""
    if len(alone) < 2:
        return {"together": None, "free": False, "alone_us": [min(row) / 1000 for row in alone], "reason": "one core"}
    slowdown = max(statistics.median(pair) / min(single) for single, pair in zip(alone, together))
    free = slowdown <= TOGETHER_LIMIT
    return {"together": slowdown, "free": free, "alone_us": [min(row) / 1000 for row in alone],
            "reason": "" if free else f"two loops at a time took {slowdown:.2f} times as long as one"}  # fmt: skip
