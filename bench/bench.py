"""./dev bench: chooses cases, prepares engines, measures, writes the report. Rules and turns are in driver.py."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import options as command_line


class Progress:
    """What runs and for how long: on a terminal in one line that is overwritten, elsewhere a line a case and a minute."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.begin, self.title, self.last = total, 0, time.monotonic(), "", time.monotonic()
        self.terminal = sys.stdout.isatty()

    def start(self, title: str) -> None:
        elapsed = time.monotonic() - self.begin
        left = f", about {elapsed / self.done * (self.total - self.done) / 60:.0f} min left" if self.done else ""
        self.title = f"[{self.done + 1}/{self.total}] {title}{left}"
        self.done += 1
        if not self.terminal:
            print(self.title, flush=True)
        self.show("")

    def show(self, text: str) -> None:
        if self.terminal:
            print(f"\r\033[K{self.title} {text}"[:150], end="", flush=True)

    def waiting(self, what: str, seconds: float) -> None:
        if self.terminal and seconds >= 2:
            self.show(f"{what} {seconds:.0f} s")
        elif not self.terminal and time.monotonic() - self.last >= 60:
            self.last = time.monotonic()
            print(f"   {what}: {seconds:.0f} s", flush=True)

    def clear(self) -> None:
        if self.terminal:
            print("\r\033[K", end="", flush=True)


class Bench:
    def __init__(self, options, installed: dict[str, str]) -> None:
        import driver
        import machine

        self.options, self.driver, self.machine = options, driver, machine
        self.effort = driver.QUICK if options.quick else driver.Effort()
        self.cores = machine.usable_cores()
        self.folder = options.output
        self.folder.mkdir(parents=True, exist_ok=True)
        self.peers: dict[str, dict] = {}
        for name in options.peers:
            reason = installed.get(name, "")
            self.peers[name] = {"status": "skipped" if reason else "ok", "reason": reason}
        self.heat = machine.heat_count()
        self.report = {"format": 2, "quick": options.quick, "machine": machine.description() | {"before": machine.state()},
                       "effort": vars(self.effort), "peers": self.peers, "overhead": {}, "cases": []}  # fmt: skip

    def alive(self) -> list[str]:
        return [name for name, peer in self.peers.items() if peer["status"] == "ok"]

    def worker(self, name: str):
        log = self.folder / "log" / f"{name}.log"
        return self.driver.Worker(name, HERE / "peers" / f"{name}.py", log, self.effort, self.progress.waiting)

    def hot(self) -> bool:
        before, self.heat = self.heat, self.machine.heat_count()
        return before is not None and self.heat is not None and self.heat > before

    def check_peers(self) -> None:
        """Starts each once: one that cannot even be imported is skipped everywhere, with one reason."""
        for name in self.alive():
            worker = self.worker(name)
            try:
                self.peers[name] |= worker.ask("start", 1, self.cores[:1])
            except self.driver.PeerError as error:
                self.peers[name] |= {"status": "skipped", "reason": str(error)}
            finally:
                worker.end()

    def run(self, cases) -> dict:
        self.progress = Progress(len(cases) + 1)
        (self.folder / "log").mkdir(exist_ok=True)
        for log in (self.folder / "log").glob("*.log"):
            log.unlink()
        self.progress.start("engines and the cost of a call")
        self.check_peers()
        self.calibrator = self.machine.Calibrator(self.folder, self.cores)
        try:
            self.calibrator.sample()
            self.measure_overhead()
            for case in cases:
                self.progress.start(case.name)
                self.measure(case)
        finally:
            self.report["calibrations"] = self.calibrator.records
            self.calibrator.end()
            self.report["machine"]["after"] = self.machine.state()
            self.progress.clear()
        return self.report

    def measure_overhead(self) -> None:
        import cases
        from peer import Work

        model = self.folder / f"{cases.OVERHEAD}.onnx"
        inputs = cases.overhead_model(model)
        ready = self.prepare(Work(model, inputs, True), cases.OVERHEAD)
        run = self.one(ready, inputs, 1, 1)
        self.report["overhead"] = run["peers"]

    def prepare(self, work, name: str) -> dict[str, dict]:
        peers = [peer for peer in self.alive() if work.macs or not self.peers[peer]["limit"]]
        return self.driver.prepare(peers, self.worker, work, self.folder / "artifacts" / name, self.cores)

    def measure(self, case) -> None:
        import cases
        import report
        from peer import Work

        inputs = cases.in_model_order(case.path(), case.inputs())
        ready = self.prepare(Work(case.path(), inputs, case.static, case.macs), case.name)
        row = {"case": case.name, "model": case.model, "static": case.static,
               "shapes": {name: list(value.shape) for name, value in inputs.items()}, "runs": [], "callers": [],
               "prepared": {name: {key: value for key, value in found.items() if key != "files"}
                            for name, found in ready.items()}}  # fmt: skip
        self.report["cases"].append(row)
        for threads in self.options.threads:
            row["runs"].append(self.one(ready, inputs, threads, 1))
            self.progress.clear()
            print(report.run_lines(row, row["runs"][-1]), flush=True)
        for callers in [] if case.macs else self.options.callers:
            row["callers"].append(self.one(ready, inputs, 1, callers, rates=True))
            self.progress.clear()
            print(report.caller_lines(row, row["callers"][-1]), flush=True)

    def one(self, ready: dict[str, dict], inputs, threads: int, callers: int, rates: bool = False) -> dict:
        """One contest. Several threads or callers only where the calibration says before and after that the cores are
        free."""
        result = {"threads": threads, "callers": callers, "measured": True, "reason": "", "peers": {}}
        wide = threads * callers > 1
        if wide and (reason := self.not_free(threads)):
            return result | {"measured": False, "reason": reason}
        contest = self.driver.Contest(self.effort)
        contest.results = {name: dict(found) for name, found in ready.items() if found["verdict"] != "ok"}
        files = {name: found["files"] for name, found in ready.items() if found["verdict"] == "ok"}
        what = f"{callers} callers" if rates else f"{threads} threads"
        try:
            contest.load(files, self.worker, inputs, threads, callers, self.cores[: threads * callers])
            measure = contest.run_callers if rates else contest.run
            result["peers"] = measure(self.hot, lambda index: self.progress.show(f"{what}, round {index + 1}"))
        finally:
            contest.end()
        if wide and (reason := self.not_free(threads)):
            return result | {"measured": False, "reason": reason, "peers": {}}
        for name, found in ready.items():
            if name in result["peers"] and found["verdict"] == "ok":
                result["peers"][name]["artifact_bytes"] = found["bytes"]
        return result

    def not_free(self, threads: int) -> str:
        if threads > len(self.cores):
            return f"{threads} threads, {len(self.cores)} cores"
        return self.calibrator.sample()["reason"]


def main() -> int:
    options = command_line.parse()
    import cases
    import report

    try:
        chosen = cases.chosen(options.models, options.quick)
    except ValueError as error:
        command_line.parser().error(str(error))
    missing = [case.name for case in chosen if not case.path().is_file()]
    if missing:
        print(f"./dev bench: the model of {missing[0]} is missing; build/venv/bin/python tools/fetch_models.py fetches it",
              file=sys.stderr)  # fmt: skip
        return 1
    installed = json.loads(os.environ.get("MOPT_BENCH_PEERS") or "{}")
    bench = Bench(options, installed)
    try:
        bench.run(chosen)
    finally:
        # Also what was measured before Ctrl-C.
        paths = report.write(bench.report, bench.folder)
    print(report.closing(bench.report))
    print("\n".join(f"wrote {path}" for path in paths))
    broken = [run for case in bench.report["cases"] for run in case["runs"] + case["callers"]
              if run["peers"].get("mopt", {}).get("verdict") in ("failed", "differs", "unsupported")]  # fmt: skip
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
