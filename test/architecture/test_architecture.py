"""Rules of the design that no compiler checks: who may include whom, what may fail how, names that must agree."""

from __future__ import annotations

import re
import subprocess
import warnings
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What each library may include besides itself and Support. Data flows from left to right:
#   Import -> Dialect/Mopt -> Transforms -> Dialect/Kernel -> Conversion -> Codegen -> Package -> Runtime
# Import produces the dialect, so it reads it. Dialect/Mopt names the reference functions, whose bodies depend on nothing.
MAY_INCLUDE = {
    "Support": set(),
    "Runtime": set(),
    "Reference": set(),
    "Dialect/Mopt": {"Reference"},
    "Import": {"Dialect/Mopt"},
    "Analysis": {"Dialect/Mopt", "Reference"},
    "Transforms": {"Dialect/Mopt", "Reference", "Analysis"},
    "Dialect/Kernel": {"Dialect/Mopt", "Reference"},
    "Conversion": {"Dialect/Mopt", "Dialect/Kernel", "Reference", "Analysis", "Transforms"},
    "Codegen": {"Reference"},
    "Package": {"Codegen", "Reference"},
    "Pipelines": {
        "Dialect/Mopt",
        "Dialect/Kernel",
        "Reference",
        "Analysis",
        "Transforms",
        "Conversion",
        "Codegen",
        "Package",
    },
}
# Contracts between halves: plain data, no code. The planner is the one C file that compiler and runtime share.
CONTRACTS = {"Runtime/mopt_abi.h", "Runtime/planner.h", "Package/Plan.h", "Package/GpuModule.h"}


@cache
def tracked() -> tuple[str, ...]:
    """Files of the repository, also those that are not committed yet."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return tuple(path for path in sorted(set(listing.stdout.splitlines())) if (ROOT / path).is_file())


@cache
def text_of(path: str) -> str:
    return (ROOT / path).read_text(errors="replace")


def sources(*folders: str, endings: tuple[str, ...] = (".c", ".cpp", ".h", ".td")) -> list[str]:
    return [path for path in tracked() if path.startswith(folders) and path.endswith(endings)]


def code_of(path: str) -> str:
    """Without comments, so that words may be talked about. Lines keep their numbers."""
    keep_lines = lambda match: "\n" * match.group().count("\n")
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", keep_lines, text_of(path), flags=re.S))


def library_of(path: str) -> str:
    parts = Path(path).parts
    parts = parts[2:] if parts[0] == "include" else parts[1:]
    return "/".join(parts[:2]) if parts[0] == "Dialect" and len(parts) > 2 else parts[0]


def found(paths: list[str], pattern: str) -> list[str]:
    hits = []
    for path in paths:
        for number, line in enumerate(code_of(path).splitlines(), 1):
            if re.search(pattern, line):
                hits.append(f"{path}:{number}: {line.strip()}")
    return hits


def test_includes_point_one_way():
    wrong = []
    for path in sources("lib/", "include/mopt/"):
        library = library_of(path)
        if "." in library:
            continue
        assert library in MAY_INCLUDE, f"{path}: add the library {library} to MAY_INCLUDE, at its place in the flow"
        for name in re.findall(r'^\s*#?include\s+"mopt/([^"]+)"', text_of(path), re.M):
            target = library_of(f"lib/{name}")
            if name not in CONTRACTS and target not in {library, "Support"} | MAY_INCLUDE[library]:
                wrong.append(f"{path} includes mopt/{name}")
    assert not wrong, "\n".join(wrong)


def test_only_import_knows_protobuf():
    outside = [path for path in sources("lib/", "include/", "tools/", "python/") if not path.startswith("lib/Import/")]
    assert not found(outside, r'#include [<"](onnx/|google/protobuf)')


def test_runtime_knows_no_compiler():
    assert not found(sources("lib/Runtime/", "tools/mopt/"), r'#include [<"](mlir|llvm)')
    assert not [path for path in sources("lib/Runtime/") if path.endswith(".cpp")], "the runtime is C"


@pytest.mark.parametrize("folder", ["lib/Import/", "lib/Runtime/"])
def test_bad_input_never_aborts(folder):
    """What a file or a caller can bring about is an error with a code; these two folders meet such input."""
    pattern = (
        r"(?<![\w_])(assert|abort|exit|_exit|report_fatal_error)\s*\(|llvm_unreachable|__builtin_unreachable|__builtin_trap"
    )
    assert not found(sources(folder), pattern)


def test_import_opens_files_in_one_place():
    """Files.cpp opens beneath the model's folder and follows no links; Output.cpp writes aside and renames."""
    others = [path for path in sources("lib/Import/") if Path(path).name not in ("Files.cpp", "Output.cpp")]
    pattern = r"\b(fopen|openat|open64|ifstream|fstream|opendir|readlink|getFile|getOpenFile|getFileOrSTDIN|openNativeFile\w*)\s*[(<{]|::open\s*\("
    assert not found(others, pattern)


def passes() -> list[tuple[str, str]]:
    """(file, name without the prefix) of every pass."""
    return [
        (path, name)
        for path in sources("include/", endings=("Passes.td",))
        for name in re.findall(r'^def \w+\s*:\s*Pass<"mopt-([\w-]+)"', text_of(path), re.M)
    ]


@pytest.mark.parametrize(("path", "name"), passes())
def test_every_pass_has_a_test_of_its_name(path, name):
    tests = [test for test in tracked() if test.startswith("test/") and Path(test).name == f"{name}.mlir"]
    assert tests, f"--mopt-{name} ({path}) has no test/**/{name}.mlir"
    assert any(f"mopt-{name}" in text_of(test) for test in tests), f"{tests[0]} does not run --mopt-{name}"


def test_passes_are_in_alphabetical_order():
    for path in {path for path, _ in passes()}:
        names = [name for file, name in passes() if file == path]
        assert names == sorted(names), path


def listed_codes() -> list[str]:
    return re.findall(r'MOPT_DIAGNOSTIC\(\s*"(MOPT-[A-Z]\d{3})"', text_of("include/mopt/Support/Diagnostics.def"))


def used_codes() -> dict[str, str]:
    """Code -> a file that uses it: written out, by number in the enum of the importer, or in that of mopt.h."""
    used = {}
    for path in sources("lib/", "include/", "tools/", "python/", endings=(".c", ".cpp", ".h", ".td", ".py")):
        for code in re.findall(r"MOPT-[A-Z]\d{3}\b", code_of(path) if not path.endswith(".py") else ""):
            used.setdefault(code, path)
    enums = {
        "I": ("lib/Import/Diagnostics.h", r"enum class Diag\b.*?\{(.*?)\};"),
        "R": ("include/mopt/Runtime/mopt.h", r"enum mopt_code \{(.*?)\}"),
    }
    for letter, (path, pattern) in enums.items():
        body = re.search(pattern, code_of(path), re.S) if path in tracked() else None
        for number in re.findall(r"=\s*(\d+)", body.group(1)) if body else []:
            if int(number):
                used.setdefault(f"MOPT-{letter}{int(number):03}", path)
    return used


def test_every_code_is_listed_once():
    listed = listed_codes()
    assert len(listed) == len(set(listed)), sorted({code for code in listed if listed.count(code) > 1})
    missing = {code: path for code, path in used_codes().items() if code not in listed}
    assert not missing, f"not in Diagnostics.def: {missing}"


def test_every_listed_code_is_used():
    unused = sorted(set(listed_codes()) - set(used_codes()))
    assert not unused


def test_files_are_small():
    """Over 600 lines a file is listed; what needs more than 1000 lines wants to be two files."""
    long = {path: text_of(path).count("\n") for path in sources("", endings=(".c", ".cpp", ".h", ".td", ".py", ".mlir"))}
    for path, lines in sorted(long.items(), key=lambda item: -item[1]):
        if lines > 600:
            warnings.warn(f"{path} has {lines} lines", stacklevel=1)
    assert not [path for path, lines in long.items() if lines > 1000]


# In pieces, so that this file does not find itself.
FORBIDDEN = {
    "a path of one machine": r"/(work|root)/[\w.]|/tmp/" + r"w/|/home/\w",
    "an unfinished thought": r"\b(TO" + r"DO|FIX" + r"ME|HA" + r"CK)\b",
    "a host of a package registry": r"https?://[\w.-]*(pypi|pythonhosted|deb\.debian|snapshot\.debian|googleapis|pkg\.dev)",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_forbidden_words(what):
    endings = (".c", ".cpp", ".h", ".td", ".py", ".mlir", ".md", ".cmake", ".txt", ".sh", ".toml", ".in", "dev", "run")
    hits = []
    for path in sources("", endings=endings):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if re.search(FORBIDDEN[what], line):
                hits.append(f"{path}:{number}: {line.strip()[:120]}")
    assert not hits, f"{what}:\n" + "\n".join(hits)


def test_docs_exist_for_what_refers_to_them():
    missing = []
    for path in sources("", endings=(".c", ".cpp", ".h", ".td", ".py", ".md")):
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", text_of(path)):
            if not (ROOT / page).is_file():
                missing.append(f"{path} names {page}")
    assert not missing, "\n".join(missing)


def test_links_in_docs_work():
    missing = []
    for path in sources("docs/", "README.md", endings=(".md",)):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text_of(path)):
            if "://" not in target and not ((ROOT / path).parent / target).exists():
                missing.append(f"{path} links to {target}")
    assert not missing, "\n".join(missing)
