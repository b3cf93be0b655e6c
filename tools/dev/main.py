"""Commands of ./dev."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys

from common import BUILD, ROOT, Failure, environment, run, say, venv_python

COMMANDS = """commands
  demo          set up, build, compile a real model, label files of this repository with it
  test          set up, build, run all fast tests         --full: the slow ones too; --only STAGE...
  setup         install what is missing, nothing else     --full: what test --full needs too
  build         build tools and tests                     ./dev build mopt-opt: one target
  bench         mopt and other engines side by side       ./dev bench magika --threads 1,2; --quick
  conformance   ONNX's own backend tests                  --update: enlarge the list of passes
  docs          write the generated pages                 --check: only say which are out of date
  format        format all files                          --check: only say which are not
  clean         remove the build folder                   --venv: the Python environment too

Everything that is made lies in ./build ($MOPT_BUILD puts it elsewhere); models are kept in $MOPT_MODELS or
~/.cache/mopt/models. On a fresh Debian 12, `./dev demo` and `./dev test` install what they need (as root or with sudo).

example: ./dev test --only lit unit"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev", usage="./dev COMMAND [OPTION...]", add_help=False,
                                     description="Builds, tests and shows mopt.", epilog=COMMANDS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("command", nargs="?", default="help", help=argparse.SUPPRESS)
    name = arguments[0] if arguments else "help"
    if name in ("help", "-h", "--help"):
        parser.print_help()
        return 0
    command = HANDLERS.get(name)
    if not command:
        print(f"dev: no command '{name}'; ./dev help lists them", file=sys.stderr)
        return 2
    try:
        return command(arguments[1:])
    except Failure as failure:
        print(f"dev {name}: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"dev {name}: stopped", file=sys.stderr)
        return 130


def _parser(name: str, text: str, example: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=f"./dev {name}", description=text, epilog=f"example: {example}")


def _setup(arguments: list[str]) -> int:
    from environment import setup

    parser = _parser("setup", "Installs the Debian packages and the Python environment that are missing.", "./dev setup")
    parser.add_argument("--full", action="store_true", help="also what ./dev test --full needs")
    setup(parser.parse_args(arguments).full)
    return 0


def _build(arguments: list[str]) -> int:
    from environment import setup

    from build import build

    parser = _parser("build", "Builds everything, or the named targets.", "./dev build mopt-opt")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    targets = parser.parse_args(arguments).targets
    setup(quiet=True)
    build(*targets)
    return 0


def _test(arguments: list[str]) -> int:
    from check import STAGES, test

    parser = _parser("test", "Builds and runs the tests.", "./dev test --only lit unit")
    parser.add_argument("--full", action="store_true", help="all models, shapes, threads and CPUs, emulation, TSan, ...")
    parser.add_argument("--only", nargs="+", default=[], metavar="STAGE", help=f"of {' '.join(STAGES)}")
    options = parser.parse_args(arguments)
    return 0 if test(options.full, options.only) else 1


def _demo(arguments: list[str]) -> int:
    from environment import setup

    from build import build

    setup(quiet=True)
    folder = build("mopt", "mopt-compiler")
    return run(
        [venv_python(), ROOT / "tools" / "dev" / "demo.py", "--bin", folder / "bin", *arguments], "demo", 900, fail=False
    )


def _script(path: str, timeout: float, *targets: str):
    def handler(arguments: list[str]) -> int:
        from environment import setup

        from build import build

        if not {"-h", "--help"} & set(arguments):
            setup(quiet=True)
            build(*targets)
        elif not venv_python().exists():
            return run([sys.executable, ROOT / path, *arguments], path, 60, fail=False)
        env = environment(PYTHONPATH=str(BUILD / "release" / "python"))
        return run([venv_python(), ROOT / path, *arguments], path, timeout, env=env, fail=False)

    return handler


def _bench(arguments: list[str]) -> int:
    import peers
    from environment import setup

    from build import build

    sys.path.append(str(ROOT / "bench"))
    import options

    chosen = options.parse(arguments)  # before minutes of building: a wrong word ends here, and --help
    setup(quiet=True)
    build("mopt", "mopt-compiler", "mopt_rt_shared")
    failed = peers.install(chosen.peers)
    env = environment(MOPT_BENCH_PEERS=json.dumps(failed))
    return run([peers.python(), ROOT / "bench" / "bench.py", *arguments], "bench", 6 * 3600, env=env, fail=False)


def _docs(arguments: list[str]) -> int:
    from environment import setup

    from build import build
    from docs import write_docs

    parser = _parser("docs", "Writes the generated pages of docs/.", "./dev docs --check")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is out of date")
    options = parser.parse_args(arguments)
    setup(quiet=True)
    build("mopt-tblgen")
    return write_docs(options.check)


def _format(arguments: list[str]) -> int:
    from environment import setup
    from formatting import check_format, format_all

    parser = _parser("format", "Formats C, C++ and Python files.", "./dev format --check")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is not formatted")
    options = parser.parse_args(arguments)
    setup(quiet=True)
    if not options.check:
        format_all()
        return 0
    wrong = check_format()
    print("\n".join(wrong) if wrong else "all files are formatted")
    return 1 if wrong else 0


def _clean(arguments: list[str]) -> int:
    parser = _parser("clean", "Removes what was built. The compiler cache and the models stay.", "./dev clean")
    parser.add_argument("--venv", action="store_true", help="the Python environment too")
    options = parser.parse_args(arguments)
    if BUILD.is_dir():
        for path in BUILD.iterdir():
            if path.name == "venv" and not options.venv:
                continue
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    say(f"clean: removed what was in {os.path.relpath(BUILD)}")
    return 0


HANDLERS = {
    "demo": _demo,
    "test": _test,
    "setup": _setup,
    "build": _build,
    "bench": _bench,
    "conformance": _script("test/conformance/run.py", 7200),
    "docs": _docs,
    "format": _format,
    "clean": _clean,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
