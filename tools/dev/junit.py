"""JUnit XML, the one report format that lit, ctest, pytest and our own runners share."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read(path: Path) -> Counts:
    counts = Counts()
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed += 1
            counts.failures.append(".".join(part for part in (case.get("classname"), case.get("name")) if part))
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def write(path: Path, suite: str, results: list[tuple[str, str, str]]) -> None:
    """results: (name, "ok" | "failed" | "skipped", text)."""
    root = xml.Element("testsuite", name=suite, tests=str(len(results)))
    for name, status, text in results:
        case = xml.SubElement(root, "testcase", classname=suite, name=name)
        if status != "ok":
            xml.SubElement(case, "failure" if status == "failed" else "skipped", message=_printable(text))
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _printable(text: str) -> str:
    """XML 1.0 has no way to say control characters."""
    return re.sub(r"[^\x09\x0a\x20-\ud7ff\ue000-\ufffd]", "?", text)
