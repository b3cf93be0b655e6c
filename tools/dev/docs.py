"""./dev docs: pages that are made from records. They are kept in docs/ so that they can be read without a build."""

from __future__ import annotations

import re
import subprocess

from common import BUILD, LLVM_BIN, ROOT, Failure, say

DOCS = ROOT / "docs"
INCLUDE = ["-I", str(ROOT / "include"), "-I", "/usr/lib/llvm-22/include"]
NOTE = "<!-- Made by ./dev docs from {source}; change that, not this page. -->\n\n"
LETTERS = {
    "S": "Shapes and types of operators",
    "I": "Reading and writing models",
    "C": "Compiling",
    "P": "Writing artifacts",
    "R": "Running artifacts",
    "V": "Evaluating a model, and mopt verify",
    "T": "Commands",
}


def _tblgen(tool: str, action: str, source: str) -> str:
    words = [tool, action, *INCLUDE, str(ROOT / "include" / source)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode:
        raise Failure(f"{action} of {source} failed: {result.stderr.strip()[:500]}")
    return NOTE.format(source=f"include/{source}") + result.stdout.strip() + "\n"


def _dialect() -> str:
    return _tblgen(str(BUILD / "release/bin/mopt-tblgen"), "-gen-op-docs", "mopt/Dialect/Mopt/Ops.td")


def _coverage() -> str:
    return _tblgen(str(BUILD / "release/bin/mopt-tblgen"), "-gen-coverage", "mopt/Dialect/Mopt/Ops.td")


def _passes() -> str:
    tool = str(LLVM_BIN / "mlir-tblgen")
    pages = [
        _tblgen(tool, "-gen-pass-doc", str(path.relative_to(ROOT / "include")))
        for path in sorted((ROOT / "include/mopt").rglob("Passes.td"))
    ]
    return "# Passes\n\n" + "\n".join(pages)


def diagnostics_of(text: str) -> list[tuple[str, str, str]]:
    """(code, what is wrong, what to do) of each row of Diagnostics.def."""
    string = r'"((?:[^"\\]|\\.)*)"'
    rows = re.findall(rf"MOPT_DIAGNOSTIC\(\s*{string}\s*,\s*\"?[\w-]+\"?\s*,\s*{string}\s*,\s*{string}\s*\)", text)
    return [(code, what.replace('\\"', '"'), advice.replace('\\"', '"')) for code, what, advice in rows]


def _diagnostics() -> str:
    rows = diagnostics_of((ROOT / "include/mopt/Support/Diagnostics.def").read_text())
    page = NOTE.format(source="include/mopt/Support/Diagnostics.def")
    page += "# Messages\n\nEvery message that mopt refuses something with starts with a code, which keeps its meaning for ever.\n"
    for letter in sorted({code[5] for code, _, _ in rows}, key="SICPRVT".find):
        page += (
            f"\n## MOPT-{letter}: {LETTERS.get(letter, letter)}\n\n| code | what is wrong | what to do |\n|---|---|---|\n"
        )
        for code, what, advice in sorted(row for row in rows if row[0][5] == letter):
            page += f"| {code} | {what} | {advice} |\n".replace("||", "\\|\\|")
    return page


PAGES = {
    "dialect.md": _dialect,
    "coverage.md": _coverage,
    "passes.md": _passes,
    "diagnostics.md": _diagnostics,
}


def out_of_date() -> list[str]:
    return [name for name, make in PAGES.items() if not (DOCS / name).is_file() or (DOCS / name).read_text() != make()]


def write_docs(check: bool) -> int:
    old = out_of_date()
    if check:
        print(f"out of date: {' '.join(old)}; ./dev docs writes them" if old else "all generated pages are up to date")
        return 1 if old else 0
    DOCS.mkdir(exist_ok=True)
    for name in old:
        (DOCS / name).write_text(PAGES[name]())
    say(f"docs: wrote {' '.join(old)}" if old else "docs: nothing changed")
    return 0
