"""The main job, shown: an ONNX model becomes a native artifact, which then labels files of this repository.

example: ./dev demo --threads 2
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import fetch_models

BOLD, DIM, END = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


class Stop(Exception):
    """Ends the demo with one line."""


def title(text: str) -> None:
    print(f"\n{BOLD}{text}{END}", flush=True)


def command(words: list, timeout: float = 300) -> tuple[str, float]:
    """Standard output and peak memory in MB. getrusage would not do: there a child starts with the peak of its parent."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(word) for word in words], stdout=out, stdin=subprocess.DEVNULL)
        deadline, peak = time.monotonic() + timeout, 0.0
        while process.poll() is None:
            peak = max(peak, peak_memory(process.pid))
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise Stop(f"{Path(words[0]).name} {words[1]} took longer than {timeout:.0f} s")
            time.sleep(0.003)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if process.returncode:
        raise Stop(f"{Path(words[0]).name} {words[1]} ended with status {process.returncode}")
    return text, peak


def peak_memory(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found.group(1)) / 1024 if found else 0.0


def file_bytes(path: Path) -> np.ndarray:
    """What magika looks at: 1024 bytes of the start and of the end, without white space around, 256 where there is none."""
    window, half = 4096, 1024
    content = path.read_bytes()
    begin, end = content[:window].lstrip()[:half], content[-window:].rstrip()[-half:]
    row = np.full(2 * half, 256, np.int32)
    row[: len(begin)] = np.frombuffer(begin, np.uint8)
    if end:
        row[-len(end) :] = np.frombuffer(end, np.uint8)
    return row


def repository_files() -> list[Path]:
    """The two largest of each ending, so that the table shows many kinds. Large files tell more about their kind."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    paths = [ROOT / line for line in listing.stdout.splitlines()] or list(ROOT.glob("*/*"))
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        if path.is_file() and path.stat().st_size >= 1000 and not path.name.startswith("."):
            kinds.setdefault(path.suffix or path.name, []).append(path)
    best = [sorted(group, key=lambda p: (-p.stat().st_size, p))[:2] for _, group in sorted(kinds.items())]
    return [path for group in best for path in group][:24]


def drawn_pictures() -> tuple[list[str], np.ndarray]:
    """Clothes drawn with rectangles, for when the package index cannot be reached."""
    shapes = {
        "T-shirt": [(4, 24, 9, 19), (4, 10, 3, 25)],
        "trousers": [(2, 8, 9, 19), (8, 26, 9, 13), (8, 26, 15, 19)],
        "pullover": [(4, 24, 8, 20), (4, 22, 3, 25)],
        "bag": [(11, 25, 3, 25), (5, 7, 10, 18), (5, 11, 9, 11), (5, 11, 17, 19)],
        "dress": [(2, 12, 11, 17), (12, 27, 9, 19)],
    }
    pictures = np.zeros((len(shapes), 1, 28, 28), np.float32)
    for picture, boxes in zip(pictures, shapes.values()):
        for top, bottom, left, right in boxes:
            picture[0, top:bottom, left:right] = 0.7
    return list(shapes), pictures


FASHION = "T-shirt trousers pullover dress coat sandal shirt sneaker bag boot".split()


def compile_model(mopt: Path, model: Path, folder: Path) -> Path:
    artifact, report = folder / "model.so", folder / "report.json"
    title(f"Compile {model.name} ({model.stat().st_size / 1e6:.2f} MB) for this machine")
    begin = time.monotonic()
    _, memory = command([mopt, "compile", model, "-o", artifact, "--report", report, "--quiet"])
    seconds = time.monotonic() - begin
    facts = json.loads(report.read_text())
    longest = max(phase["ms"] for phase in facts["phases"])
    for phase in facts["phases"]:
        bar = "#" * round(30 * phase["ms"] / max(longest, 1e-9))
        print(f"  {phase['name']:12} {phase['ms']:8.1f} ms  {DIM}{bar}{END}")
    print(f"  {'in all':12} {seconds * 1000:8.1f} ms  with start of the compiler; its peak memory was {memory:.0f} MB")
    print(f"  artifact     {artifact.stat().st_size / 1e6:8.2f} MB  {facts['weight_bytes'] / 1e6:.2f} MB weights, "
          f"{facts['code_bytes'] / 1e3:.0f} kB code, {facts['steps']} steps, for {facts['cpu']}")  # fmt: skip
    return artifact


def run_model(mopt: Path, artifact: Path, folder: Path, name: str, batch: np.ndarray, threads: int) -> np.ndarray:
    np.savez(folder / "in.npz", **{name: batch})
    command([mopt, "run", artifact, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz", "--threads", threads])
    with np.load(folder / "out.npz") as results:
        return results[results.files[0]]


def measure(mopt: Path, artifact: Path, folder: Path, name: str, row: np.ndarray, threads: int) -> None:
    title(f"Measure one row, {threads} thread{'s' if threads > 1 else ''}")
    np.savez(folder / "one.npz", **{name: row})
    words = [mopt, "bench", artifact, "--inputs", folder / "one.npz", "--threads", threads, "--seconds", 2, "--json"]
    text, memory = command(words)
    facts = json.loads(text)
    result = facts["results"][0]
    print(f"  load {facts['load_ms']:.2f} ms, first run {facts['first_run_ms']:.2f} ms")
    print(f"  latency p10 {result['p10_us'] / 1000:.3f} ms, P50 {result['p50_us'] / 1000:.3f} ms, "
          f"P95 {result['p95_us'] / 1000:.3f} ms; {result['qps']:.0f} rows a second "
          f"(machine: {facts['machine']['verdict']})")  # fmt: skip
    print(f"  peak memory of the process {memory:.1f} MB, of that {facts['session_bytes'] / 1e6:.2f} MB of this session")


def label_files(mopt: Path, folder: Path, threads: int) -> None:
    models = fetch_models.default_folder()
    fetch_models.fetch(["magika", "magika_config"], models, say=lambda line: print(f"  {line}", flush=True))
    labels = json.loads((models / "magika_config.json").read_text())["target_labels_space"]
    artifact = compile_model(mopt, models / "magika.onnx", folder)
    paths = repository_files()
    title(f"Label {len(paths)} files of this repository in one batch")
    rows = np.stack([file_bytes(path) for path in paths])
    scores = run_model(mopt, artifact, folder, "bytes", rows, threads)
    for path, score in zip(paths, scores):
        best = int(score.argmax())
        print(f"  {path.relative_to(ROOT)!s:58.58} {labels[best]:14} {100 * score[best]:5.1f} %")
    measure(mopt, artifact, folder, "bytes", rows[:1], threads)


def label_pictures(mopt: Path, folder: Path, threads: int) -> None:
    artifact = compile_model(mopt, ROOT / "test" / "models" / "fashion_resnet.onnx", folder)
    names, pictures = drawn_pictures()
    title(f"Label {len(names)} drawn pictures of clothes in one batch")
    logits = run_model(mopt, artifact, folder, "x", pictures, threads)
    powers = np.exp(logits - logits.max(1, keepdims=True))
    for name, score in zip(names, powers / powers.sum(1, keepdims=True)):
        best = int(score.argmax())
        print(f"  drawn as {name:14} labelled {FASHION[best]:14} {100 * score[best]:5.1f} %")
    measure(mopt, artifact, folder, "x", pictures[:1], threads)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[2])
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of the runs (default: %(default)s)")
    parser.add_argument("--offline", action="store_true", help="the small ResNet of the tests instead of magika")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help=argparse.SUPPRESS)
    options = parser.parse_args()
    mopt = options.bin / "mopt"
    try:
        with tempfile.TemporaryDirectory(prefix="mopt-demo-") as folder:
            if not options.offline:
                try:
                    label_files(mopt, Path(folder), options.threads)
                    return 0
                except fetch_models.FetchError as error:
                    print(f"  {error}\n  going on with the small ResNet that is part of the tests")
            label_pictures(mopt, Path(folder), options.threads)
    except (Stop, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
