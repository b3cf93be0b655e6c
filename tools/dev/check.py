"""./dev test: every stage runs, whatever the ones before said; the last line is the sum."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import junit
from common import BUILD, JOBS, ROOT, VENV, Failure, environment, run, say, venv_python
from environment import setup
from formatting import check_format
from junit import Counts

from build import build, build_sanitized

REPORTS = BUILD / "reports"


def test(full: bool, only: list[str]) -> bool:
    unknown = [name for name in only if name not in STAGES]
    if unknown:
        raise Failure(f"no stage {unknown[0]}; there are: {' '.join(STAGES)}")
    start = time.monotonic()
    setup(full, quiet=True)
    try:
        build()
    except Failure as failure:
        print(failure)
        print(Counts(failed=1))
        return False
    total = Counts()
    for name, (stage, only_full) in STAGES.items():
        if only and name not in only or not only and only_full and not full:
            continue
        say(f"test: {name}")
        begin = time.monotonic()
        report = REPORTS / f"{name}.xml"
        report.unlink(missing_ok=True)
        try:
            stage(report)
            if not report.is_file():
                raise Failure("it wrote no report, so nothing was tested")
            counts = junit.read(report)
        except Failure as failure:
            # A stage that ended without a report (a crash, a timeout) is one failure, named after the stage.
            counts = junit.read(report) if report.is_file() else Counts()
            if not counts.failed:
                counts.failed, counts.failures = counts.failed + 1, [*counts.failures, f"{name}: {failure}"]
        total.add(counts)
        print(f"   {name}: {counts} ({time.monotonic() - begin:.0f} s)", flush=True)
        for failure in counts.failures[:20]:
            print(f"   FAILED {failure}")
    say(f"test: {time.monotonic() - start:.0f} s in all")
    for failure in total.failures:
        print(f"FAILED {failure}")
    print(total, flush=True)
    return total.failed == 0 and total.passed > 0


def _stage(command: list[str | Path], report: Path, timeout: float, **env: str) -> None:
    run(command, report.stem, timeout, log=BUILD / "log" / f"{report.stem}.log", env=environment(**env))


def _python(script: str, report: Path, *arguments: str | Path, timeout: float = 1800) -> None:
    _stage([venv_python(), ROOT / script, "--junit", report, *arguments], report, timeout, PYTHONPATH=PYTHON_PATH)


PYTHON_PATH = str(BUILD / "release" / "python")


def _lit(report: Path) -> None:
    REPORTS.mkdir(parents=True, exist_ok=True)
    _stage([VENV / "bin" / "lit", "-sv", f"-j{JOBS}", "--timeout=120", f"--xunit-xml-output={report}",
            BUILD / "release" / "test"], report, 1800)  # fmt: skip


def _ctest(report: Path, folder: Path, *choice: str, **env: str) -> None:
    """Tests with the label `slow` run with --full only."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    _stage(["ctest", "--test-dir", folder, f"-j{JOBS}", "--timeout", "1800", "--output-on-failure", "--no-tests=error",
            *(choice or ("-LE", "slow")), "--output-junit", report], report, 3600, **env)  # fmt: skip


def _unit(report: Path) -> None:
    _ctest(report, BUILD / "release")


def _pytest(*folders: str) -> Callable[[Path], None]:
    return lambda report: _merge(report, _run_pytest(report, folders or _pytest_folders(), BUILD / "release"))


def _run_pytest(report: Path, folders: Sequence[str], build_folder: Path, **env: str) -> dict[str, Counts]:
    """Each folder in a process of its own: their conftest.py files are modules of one name."""
    parts = {}
    for name in folders:
        part = report.with_name(f"{report.stem}-{name.replace('/', '-')}.xml")
        part.unlink(missing_ok=True)
        command = [venv_python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={part}", ROOT / name]
        compiler = str(build_folder / "bin" / "mopt-compiler")
        try:
            _stage(command, part, 3600, PYTHONPATH=PYTHON_PATH, MOPT_COMPILER=compiler, **env)
        except Failure:
            if not part.is_file():
                raise
        parts[name] = junit.read(part)
    return parts


def _pytest_folders() -> list[str]:
    """Those with test_*.py files, but for the architecture test, which is a stage of its own."""
    folders = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "test").rglob("test_*.py")}
    return sorted(folder for folder in folders if folder != "test/architecture")


def _merge(report: Path, parts: dict[str, Counts]) -> None:
    results = []
    for name, counts in parts.items():
        results += [(f"{name}/{i}", "ok", "") for i in range(counts.passed)]
        results += [(f"{name}/skipped{i}", "skipped", "") for i in range(counts.skipped)]
        results += [(f"{name} {failure}", "failed", "") for failure in counts.failures]
    junit.write(report, report.stem, results)


def _format(report: Path) -> None:
    wrong = check_format()
    results = [("format", "failed" if wrong else "ok", " ".join(wrong))]
    junit.write(report, "format", results)
    if wrong:
        print(f"   not formatted (./dev format does it): {' '.join(wrong)}")


def _sanitizer(kind: str, sanitizers: str, importer: bool, **env: str) -> Callable[[Path], None]:
    """The runtime's tests, and with `importer` those that feed the importer damaged and odd files."""

    def stage(report: Path) -> None:
        folder = build_sanitized(kind, sanitizers, "test/Runtime/all", "mopt", *(["mopt-compiler"] if importer else []))
        part = report.with_name(f"{kind}-Runtime.xml")
        part.unlink(missing_ok=True)
        try:
            _ctest(part, folder / "test" / "Runtime", **env)
        except Failure:
            if not part.is_file():
                raise
        parts = {"test/Runtime": junit.read(part)}
        if importer:
            parts |= _run_pytest(report, ["test/Import", "test/malicious"], folder, **env)
        _merge(report, parts)

    return stage


def _tidy(report: Path) -> None:
    sources = [p for folder in ("lib", "tools") for p in sorted((ROOT / folder).rglob("*.cpp"))]
    run(["run-clang-tidy-22", "-p", BUILD / "release", "-quiet", f"-j{JOBS}", "-warnings-as-errors=*",
         *(f"^{path}$" for path in sources)], "clang-tidy", 7200, log=BUILD / "log" / "tidy.log")  # fmt: skip
    junit.write(report, "tidy", [("tidy", "ok", "")])


def _docs(report: Path) -> None:
    from docs import out_of_date

    old = out_of_date()
    junit.write(report, "docs", [("generated pages", "failed" if old else "ok", f"./dev docs writes {' '.join(old)}")])


def _wheel(report: Path) -> None:
    """What `pip install .` gives, in a Python environment that has nothing else of ours."""
    folder, fresh = BUILD / "wheel", BUILD / "wheel-venv"
    launchers = [f"--config-settings=cmake.define.CMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
    pip = ["-m", "pip", "--disable-pip-version-check", "--no-input"]
    run(
        [venv_python(), *pip, "wheel", ROOT, "--no-deps", "--wheel-dir", folder, *launchers],
        "pip wheel",
        3600,
        log=BUILD / "log" / "wheel.log",
    )
    wheel = max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    run([venv_python(), "-m", "venv", "--clear", fresh], "python -m venv", 300, log=BUILD / "log" / "wheel-venv.log")
    python = fresh / "bin" / "python"
    run(
        [python, *pip, "install", f"{wheel}[onnx]", "pytest"],
        "pip install of the wheel",
        900,
        log=BUILD / "log" / "wheel-install.log",
    )
    _stage(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", ROOT / "test/python"], report, 900
    )


def _round_trips(report: Path) -> None:
    _python("test/e2e/round_trip.py", report, timeout=3600)


# name: (function, only with --full). Cheap ones first, so that a plain mistake shows early.
STAGES: dict[str, tuple[Callable[[Path], None], bool]] = {
    "format": (_format, False),
    "architecture": (_pytest("test/architecture"), False),
    "docs": (_docs, False),
    "lit": (_lit, False),
    "unit": (_unit, False),
    "pytest": (_pytest(), False),
    "cases": (lambda report: _python("test/cases/run_cases.py", report), False),
    "models": (lambda report: _python("test/e2e/run_models.py", report, "--fast"), False),
    "concurrent": (lambda report: _python("test/e2e/run_concurrent.py", report), False),
    "counts": (lambda report: _python("bench/counts.py", report), False),
    # LLVM's allocators poison in code that is inlined into ours and unpoison in Debian's library, which is not sanitized:
    # poisoning by hand is off.
    "asan": (
        _sanitizer(
            "asan", "address,undefined", True, UBSAN_OPTIONS="print_stacktrace=1", ASAN_OPTIONS="allow_user_poisoning=0"
        ),
        False,
    ),
    "conformance": (lambda report: _python("test/conformance/run.py", report, timeout=5400), True),
    "models-full": (lambda report: _python("test/e2e/run_models.py", report, "--fetch", timeout=7200), True),
    "round-trips": (_round_trips, True),
    "emulated": (lambda report: _python("test/e2e/run_emulated.py", report, timeout=3600), True),
    "tsan": (_sanitizer("tsan", "thread", False, TSAN_OPTIONS="halt_on_error=1"), True),
    "wheel": (_wheel, True),
    "slow": (lambda report: _ctest(report, BUILD / "release", "-L", "slow"), True),
    "tidy": (_tidy, True),
}
