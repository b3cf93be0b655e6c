"""The `mopt` command on the toy artifact: results, exit status, messages, hostile files. Standard library only.

Usage: command_test.py MOPT ARTIFACTS
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

MOPT, ARTIFACTS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOY = os.path.join(ARTIFACTS, "toy.so")


def npy(descr, shape, data, fortran=False, header=None):
    text = header or "{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}".format(
        descr,
        fortran,
        "".join(f"{d}, " for d in shape),
    )
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin1") + data


def npz(path, arrays, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as z:
        for name, content in arrays.items():
            z.writestr(name + ".npy", content)
    return path


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def mopt(self, *arguments, status=0):
        p = subprocess.run([MOPT, *arguments], capture_output=True, text=True, timeout=120, errors="replace")
        self.assertEqual(status, p.returncode, p.stdout + p.stderr)
        if status:
            lines = [line for line in p.stderr.splitlines() if line.startswith("error MOPT-")]
            self.assertEqual(1, len(lines), p.stderr)
        return p.stdout if status == 0 else p.stderr

    def run_with(self, content, status=0, method=zipfile.ZIP_STORED):
        out = self.path("out.npz")
        text = self.mopt("run", TOY, "--inputs", npz(self.path("in.npz"), content, method), "--outputs", out, status=status)
        if status:
            self.assertFalse(os.path.exists(out))
            return text
        with zipfile.ZipFile(out) as z:
            self.assertEqual(["y.npy"], z.namelist())
            y = z.read("y.npy")
        return y[10 + struct.unpack("<H", y[8:10])[0] :]

    def test_run(self):
        x = [1, -2, 3, 4, 0, 0, 0, -1]
        want = floats(*[max(v * (i % 4 + 1) + 1, 0) for i, v in enumerate(x)])
        content = npy("<f4", (2, 4), floats(*x))
        self.assertEqual(want, self.run_with({"x": content}))
        self.assertEqual(
            want, self.run_with({"x": content, "label": npy("<i8", (), b"\0" * 8)}, method=zipfile.ZIP_DEFLATED)
        )
        columns = npy("<f4", (2, 4), floats(*[x[r * 4 + c] for c in range(4) for r in range(2)]), fortran=True)
        self.assertEqual(want, self.run_with({"x": columns}))
        self.assertEqual(b"", self.run_with({"x": npy("<f4", (0, 4), b"")}))

    def test_same_bytes_every_time(self):
        for name, threads in (("a", "1"), ("b", "4")):
            self.mopt("run", TOY, "--shape", "x=100x4", "--threads", threads, "-o", self.path(name))
        with open(self.path("a"), "rb") as a, open(self.path("b"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_wrong_arrays(self):
        four = floats(1, 2, 3, 4)
        cases = [
            ({"x": npy("<f8", (1, 4), b"\0" * 32)}, "element type is '<f8'"),
            ({"x": npy(">f4", (1, 4), four)}, "big endian"),
            ({"x": npy("<f4", (2, 4), four)}, "shape and size disagree"),
            ({"x": npy("<f4", (1, 5), floats(1, 2, 3, 4, 5))}, "axis 1 has size 5"),
            ({"x": npy("<f4", (4,), four)}, "1 dimensions [4]"),
            ({"z": npy("<f4", (1, 4), four)}, "no array for input 'x'"),
            ({"x": npy("<f4", (1 << 62, 4), four)}, "too large"),
            ({"x": npy("<f4", (1 << 40, 4), four)}, "disagree"),
            (
                {
                    "x": npy(
                        "<f4", (), four, header="{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"
                    )
                },
                "too large",
            ),
            ({"x": npy("<f4", (1,) * 40, four)}, "40 dimensions"),
            ({"x": npy("", (), four, header="{'descr': [('a', '<f4')], 'shape': (1,)}")}, "structured"),
            ({"x": npy("", (), four, header="{'descr': '<f4'")}, "header"),
            ({"x": npy("", (), four, header="__import__('os').system('x')")}, "header"),
            ({"x": b"\x93NUMPY\x02\x00\xff\xff\xff\xff"}, "header has"),
            ({"x": b"\x93NUM"}, "cut"),
            ({"x": b"hello world, no array at all"}, "no .npy"),
            ({"x": npy("<f4", (1, 4), four) + b"tail"}, "disagree"),
        ]
        for content, text in cases:
            with self.subTest(text=text):
                self.assertIn(text, self.run_with(content, status=2))

    def test_damaged_containers(self):
        good = npz(self.path("good.npz"), {"x": npy("<f4", (1, 4), floats(1, 2, 3, 4))}, zipfile.ZIP_DEFLATED)
        with open(good, "rb") as f:
            data = f.read()
        for cut in range(0, len(data), 17):
            with open(self.path("bad.npz"), "wb") as f:
                f.write(data[:cut])
            self.mopt("run", TOY, "--inputs", self.path("bad.npz"), status=2)
        for at in range(0, len(data), 11):
            with open(self.path("bad.npz"), "wb") as f:
                f.write(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
            p = subprocess.run([MOPT, "run", TOY, "--inputs", self.path("bad.npz")], capture_output=True, timeout=60)
            self.assertIn(p.returncode, (0, 2), (at, p.stderr))

    def test_bomb(self):
        bomb = npy("<f4", (2 << 20, 4), b"\0" * (32 << 20))
        path = npz(self.path("bomb.npz"), {"x": bomb}, zipfile.ZIP_DEFLATED)
        with open(path, "rb") as f:
            data = bytearray(f.read())
        at = data.rfind(b"PK\x01\x02")
        struct.pack_into("<I", data, at + 20, 100)  # claims 32 MiB from 100 bytes
        with open(path, "wb") as f:
            f.write(data)
        self.mopt("run", TOY, "--inputs", path, status=2)

    def test_outputs_appear_whole_or_not_at_all(self):
        self.assertIn("cannot write", self.mopt("run", TOY, "--shape", "x=1x4", "-o", "/nonexistent/o.npz", status=2))
        self.mopt("run", TOY, "--shape", "x=1x4", "-o", self.path("o.npz"))
        self.assertEqual(["o.npz"], os.listdir(self.folder.name))

    def test_shapes(self):
        self.assertIn("y float32 [3,4]", self.mopt("run", TOY, "--shape", "x=3x4"))
        self.assertIn("free sizes [n,4]", self.mopt("run", TOY, status=2))
        for bad in (
            "x",
            "=1x4",
            "x=1x",
            "x=axb",
            "x=-1x4",
            "x=1x99999999999999999999",
            "z=1x4",
            "x=1x5",
            "x=9000000000000x4",
        ):
            self.mopt("run", TOY, "--shape", bad, status=2)

    def test_artifacts(self):
        for name in ("toy_abi", "toy_steps", "nothing"):
            self.mopt("inspect", os.path.join(ARTIFACTS, name + ".so"), status=1 if name == "toy_steps" else 2)
        text = self.mopt("inspect", TOY, "--verify", "--shape", "x=16x4", "--sessions", "2")
        for part in ("input      x float32 [n,4]", "all verified", "arena 256 B", "add+relu (add_1,relu_2)"):
            self.assertIn(part, text)
        report = json.loads(self.mopt("inspect", TOY, "--json", "--shape", "x=16x4"))
        self.assertEqual(256, report["memory"]["arena"])
        self.assertEqual({}, report["manifest"])
        self.assertEqual("{}\n", self.mopt("inspect", TOY, "--manifest"))

    def test_artifacts_of_other_processors_are_described(self):
        for name, reason in (
            ("toy_cpu", "MOPT-R017: the artifact needs (unknown)"),
            ("toy_machine", "MOPT-R016: the artifact is for riscv (machine 243)"),
        ):
            path = os.path.join(ARTIFACTS, name + ".so")
            text = self.mopt("inspect", path, "--verify", "--shape", "x=16x4")
            for part in (f"runs here  no: {reason}", "input      x float32 [n,4]", "all verified", "arena 256 B"):
                self.assertIn(part, text)
            report = json.loads(self.mopt("inspect", path, "--json"))
            self.assertIs(False, report["runs_here"])
            self.assertTrue(report["reason"].startswith(reason))
            self.assertEqual("{}\n", self.mopt("inspect", path, "--manifest"))
            self.assertIn(reason.split(":")[0], self.mopt("run", path, "--shape", "x=1x4", status=2))
        report = json.loads(self.mopt("inspect", TOY, "--json"))
        self.assertEqual((True, None), (report["runs_here"], report["reason"]))

    def test_damaged_weights_are_found_on_request(self):
        with open(TOY, "rb") as f:
            data = bytearray(f.read())
        offset = struct.unpack("<Q", data[-72:][16:24])[0]
        data[offset + 12345] ^= 1
        bad = self.path("bad.so")
        with open(bad, "wb") as f:
            f.write(data)
        self.mopt("run", bad, "--shape", "x=1x4")  # weights are not read to load a model
        for words in (["run", bad, "--shape", "x=1x4", "--verify", "-o", self.path("o.npz")], ["inspect", bad, "--verify"]):
            self.assertIn("MOPT-R014: the weights are damaged near byte 0", self.mopt(*words, status=2))
        self.assertFalse(os.path.exists(self.path("o.npz")))
        self.mopt("run", TOY, "--shape", "x=1x4", "--verify")

    def test_inspect_reads_artifacts_whatever_their_name_is(self):
        name = self.path("model.onnx")
        with open(TOY, "rb") as a, open(name, "wb") as b:
            b.write(a.read())
        self.assertIn("input      x float32 [n,4]", self.mopt("inspect", name))
        with open(self.path("text"), "w") as f:
            f.write("?")
        self.assertIn("MOPT-R012", self.mopt("inspect", self.path("text"), status=2))
        self.assertIn("MOPT-R010", self.mopt("inspect", self.folder.name, status=2))

    def test_bench(self):
        report = json.loads(
            self.mopt(
                "bench",
                TOY,
                "--shape",
                "x=64x4",
                "--runs",
                "50",
                "--warmup",
                "1",
                "--concurrency",
                "1,2",
                "--threads",
                "2",
                "--profile",
                "--json",
            )
        )
        self.assertEqual([50, 50], [r["runs"] for r in report["results"]])
        self.assertEqual(["scale", "add+relu"], [s["name"] for s in report["steps"]])
        self.assertIn(report["machine"]["verdict"], ("ok", "noisy", "throttled"))
        verdict = report["machine"]["verdict"]
        self.assertTrue(report["results"][1]["scaling"] == verdict or verdict == "ok")
        self.assertIn("P99", self.mopt("bench", TOY, "--shape", "x=64x4", "--seconds", "0.1"))
        self.mopt("bench", TOY, "--shape", "x=64x4", "--runs", "5", "--seconds", "1", status=2)

    def test_words(self):
        self.assertIn("mopt compile model.onnx", self.mopt("--help"))
        for command in ("run", "bench", "inspect"):
            self.assertIn("Example: mopt " + command, self.mopt(command, "--help"))
        self.mopt("frobnicate", status=2)
        self.mopt(status=2)
        self.mopt("run", status=2)

    def test_compiler_is_started_with_all_arguments(self):
        folder = self.path("bin")
        os.mkdir(folder)
        mopt = os.path.join(folder, "mopt")
        shutil.copyfile(MOPT, mopt)
        os.chmod(mopt, 0o755)
        p = subprocess.run([mopt, "compile", "m.onnx"], capture_output=True, text=True)
        self.assertEqual(1, p.returncode)
        self.assertIn("cannot be started", p.stderr)
        with open(os.path.join(folder, "mopt-compiler"), "w") as f:
            f.write('#!/bin/sh\necho "$@"\nexit 3\n')
        os.chmod(f.name, 0o755)
        phase = self.path("phase")
        with open(phase, "w") as f:
            f.write("module {}")
        for words in (
            ["compile", "m.onnx", "-o", "m.so"],
            ["inspect", "m.onnx", "--x"],
            ["inspect", "m.mlirbc"],
            ["inspect", "--shape", "x=1", phase],
            ["verify", "--help"],
        ):
            p = subprocess.run([mopt, *words], capture_output=True, text=True)
            self.assertEqual((3, " ".join(words) + "\n"), (p.returncode, p.stdout))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
