"""`mopt compile`: what it writes appears whole or not at all, and what it says on a terminal."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("MOPT_COMPILER", str(ROOT / "build" / "release" / "bin" / "mopt-compiler"))
PHASES = pathlib.Path(__file__).with_name("phases.mlir")  # a module with three steps


def compile_(*args, source=PHASES):
    words = [COMPILER, "compile", str(source), *map(str, args)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode >= 0, done.stderr
    return done.returncode, done.stderr.splitlines()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("to", [[], ["--to", "grouped"], ["--emit", "llvm"], ["--emit", "mlir"]])
def test_report_and_output_appear_together(to, tmp_path):
    status, lines = compile_("-o", tmp_path / "out", "--report", tmp_path / "r.json", *to)
    assert (status, lines) == (0, [])
    assert names(tmp_path) == sorted(["out", "r.json", *(["out.weights"] if "grouped" in to else [])])
    phases = [phase["name"] for phase in json.loads((tmp_path / "r.json").read_text())["phases"]]
    assert phases[-1] == {"grouped": "grouped", "mlir": "llvm"}.get((to or [""])[-1], "package")


@pytest.mark.parametrize("to", [[], ["--to", "grouped"], ["--emit", "llvm"]])
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("bad", ["absent/r.json", ".", "/dev/null"])
def test_bad_report_leaves_everything_as_it_was(to, old, bad, tmp_path):
    if old:
        (tmp_path / "out").write_text("old")
    before = names(tmp_path)
    status, lines = compile_("-o", tmp_path / "out", "--report", tmp_path / bad, *to)
    assert status == 2
    assert len(lines) == 1 and lines[0].startswith("error MOPT-P00"), lines
    assert names(tmp_path) == before
    assert not old or (tmp_path / "out").read_text() == "old"


def test_bad_output_leaves_no_report(tmp_path):
    for out in (tmp_path / "absent" / "m.so", tmp_path, "/dev/null"):
        status, lines = compile_("-o", out, "--report", tmp_path / "r.json")
        assert status == 2 and lines[-1].startswith("error MOPT-P00"), lines
        assert names(tmp_path) == []
    for out in (tmp_path / "absent" / "m.mlir", "/dev/null"):
        status, lines = compile_("-o", out, "--to", "grouped", "--report", tmp_path / "r.json")
        assert status == 2 and lines[-1].startswith("error MOPT-I027"), lines
        assert names(tmp_path) == []


def test_one_file_is_not_two_outputs(tmp_path):
    (tmp_path / "m.mlir").write_text(PHASES.read_text())
    (tmp_path / "old").write_text("old")
    here = str(tmp_path)
    cases = [
        ("m.mlir", []),
        ("./m.mlir", []),
        ("new", ["--report", f"{here}/./new"]),
        ("old", ["--report", f"{here}/./old"]),
        ("new", ["--report", f"{here}/m.mlir"]),
    ]
    for out, more in cases:
        status, lines = compile_("-o", f"{here}/{out}", *more, source=tmp_path / "m.mlir")
        assert status == 2 and len(lines) == 1 and lines[0].startswith("error MOPT-T009: "), lines
        assert names(tmp_path) == ["m.mlir", "old"]


def test_weights_of_a_module_are_not_overwritten(tmp_path):
    """M.weights belongs to M.mlir: another module of that stem would take it away."""
    source = tmp_path / "m.mlir"
    source.write_text(
        "func.func @main(%x: tensor<2x300xf32>) -> tensor<2x300xf32> {\n"
        '  %w = mopt.constant {value = #mopt.weight<"m.weights", 0, 2400> : tensor<2x300xf32>} : tensor<2x300xf32>\n'
        "  %y = mopt.add %x, %w : (tensor<2x300xf32>, tensor<2x300xf32>) -> tensor<2x300xf32>\n"
        "  return %y : tensor<2x300xf32>\n}\n"
    )
    (tmp_path / "m.weights").write_bytes(bytes(2400))
    for out in ("m.txt", "m", "m.weights"):
        status, lines = compile_("--to", "grouped", "-o", tmp_path / out, source=source)
        assert status == 2 and lines[-1].startswith("error MOPT-I027: "), (out, lines)
        assert names(tmp_path) == ["m.mlir", "m.weights"]
    status, lines = compile_("--to", "grouped", "-o", tmp_path / "n.mlir", source=source)
    assert status == 0, lines
    assert (tmp_path / "m.weights").read_bytes() == (tmp_path / "n.weights").read_bytes() == bytes(2400)


def on_terminal(*args):
    """Exit status and what a terminal shows."""
    master, slave = pty.openpty()
    process = subprocess.Popen([COMPILER, "compile", str(PHASES), *map(str, args)], stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return process.wait(120), shown.decode()


def test_progress_on_a_terminal(tmp_path):
    status, shown = on_terminal("-o", tmp_path / "m.so")
    assert status == 0
    # Three steps: each is seen to pass the stages of code generation.
    for stage in ("specialize", "optimize", "emit"):
        for step in (1, 2, 3):
            assert f"code: {stage} {step} of " in shown, shown
    # What stays are whole lines: each line that changes is erased before the next is written.
    assert shown.count("code: ") == shown.count("\r\x1b[K")
    lasting = [line.rsplit("\x1b[K", 1)[-1] for line in shown.replace("\r\n", "\n").split("\n")]
    assert [line.split(" ")[0] for line in lasting[:-1]] == [
        "normalized", "pruned", "quantized", "fused", "grouped", "kernels", "buffers", "llvm", "package", "wrote",
    ]  # fmt: skip
    assert lasting[-1] == ""


def test_quiet_on_a_terminal(tmp_path):
    assert on_terminal("-o", tmp_path / "m.so", "--quiet") == (0, "")


def test_silent_elsewhere(tmp_path):
    assert compile_("-o", tmp_path / "m.so") == (0, [])


def large_module(folder):
    """x + w with a w of 64 MiB, which takes a while to write."""
    side = 4096
    (folder / "large.mlir").write_text(
        f"func.func @main(%x: tensor<{side}x{side}xf32>) -> tensor<{side}x{side}xf32> {{\n"
        f'  %w = mopt.constant {{value = #mopt.weight<"large.weights", 0, {4 * side * side}> : tensor<{side}x{side}xf32>}}'
        f" : tensor<{side}x{side}xf32>\n"
        f"  %y = mopt.add %x, %w : (tensor<{side}x{side}xf32>, tensor<{side}x{side}xf32>) -> tensor<{side}x{side}xf32>\n"
        f"  return %y : tensor<{side}x{side}xf32>\n}}\n"
    )
    with open(folder / "large.weights", "wb") as weights:
        weights.truncate(4 * side * side)
    return folder / "large.mlir"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("to", ["llvm", "grouped"])
def test_leaves_nothing_behind(to, number, tmp_path):
    """Killed while it writes: when the output, which has no name yet, has some of its bytes."""
    source, out = large_module(tmp_path), tmp_path / "out"
    out.mkdir()
    process = subprocess.Popen([COMPILER, "compile", source, "-o", out / "m", "--to", to], stderr=subprocess.DEVNULL)
    descriptors = pathlib.Path(f"/proc/{process.pid}/fd")
    while process.poll() is None:
        try:
            if any(os.stat(fd).st_size > 1 << 20 and str(out) in os.readlink(fd) for fd in descriptors.iterdir()):
                break
        except OSError:  # a descriptor or the process went meanwhile
            continue
        time.sleep(0.001)
    process.send_signal(number)
    status = process.wait(60)
    assert status in (0, -number)
    assert [name for name in names(out) if not status == 0 or name not in ("m", "m.weights")] == []
