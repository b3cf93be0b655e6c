"""The rules and the processes of ./dev bench. Times are given to the rules, never measured and judged here."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKES = Path(__file__).resolve().parent / "fakes"
sys.path += [str(ROOT / "bench"), str(ROOT / "tools" / "dev"), str(ROOT / "tools")]

import cases
import driver
import fetch_models
import machine
import options
import peers
import report
import worker
from peer import Work

SMALL = driver.Effort(rounds=4, turn_seconds=0.001, caller_rounds=3, caller_seconds=0.001, answer_seconds=60)
CORES = sorted(os.sched_getaffinity(0))
INPUTS = {"x": np.arange(1, 7, dtype=np.float32).reshape(2, 3)}


@pytest.fixture(autouse=True)
def fakes_on_path(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{FAKES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


@pytest.fixture
def make(tmp_path):
    made = []

    def worker_of(name: str, path: Path | None = None) -> driver.Worker:
        path = path or FAKES / f"{'fake' if name == driver.REFERENCE else name}.py"
        made.append(driver.Worker(name, path, tmp_path / f"{name}.log", SMALL))
        return made[-1]

    yield worker_of
    for one in made:
        if one.process.poll() is None:
            one.end()


# ---- Rules ----


def test_ratio_is_the_median_of_neighbouring_turns():
    assert driver.verdict_of([1.99, 2.0, 2.01, 2.0])["ratio"] == 2.0


@pytest.mark.parametrize(
    ("ratios", "throttled", "verdict"),
    [
        ([1, 1.02, 0.98, 1.01], False, "ok"),
        ([1, 1, 1, 1, 1, 1, 5], False, "ok"),  # one turn that was disturbed does not spoil a figure
        ([0.8, 1, 1.2, 1.1], False, "noisy"),
        ([1, 1], False, "noisy"),  # too few to tell
        ([1, 1, 1, 1], True, "throttled"),
    ],
)
def test_no_ratio_where_the_spread_or_heat_says_so(ratios, throttled, verdict):
    found = driver.verdict_of(ratios, throttled)
    assert found["verdict"] == verdict
    assert (found["ratio"] is not None) == (verdict == "ok")


def test_difference_is_over_the_largest_value():
    found = driver.difference_of([np.array([100.0, 1.0])], [np.array([100.0, 1.5])])
    assert found["absolute"] == 0.5 and found["relative"] == 0.005


def test_difference_knows_what_is_no_number():
    nan, inf = np.nan, np.inf
    assert driver.difference_of([np.array([nan, inf, 1])], [np.array([nan, inf, 1])])["relative"] == 0
    assert driver.difference_of([np.array([1.0])], [np.array([nan])])["relative"] == inf
    assert driver.difference_of([np.array([inf])], [np.array([-inf])])["relative"] == inf
    assert driver.difference_of([np.zeros(2)], [np.zeros(2)])["relative"] == 0
    assert driver.difference_of([np.zeros((0, 4))], [np.zeros((0, 4))])["relative"] == 0


def test_difference_of_shapes_is_told():
    assert "1 outputs, expected 2" in driver.difference_of([np.zeros(1)] * 2, [np.zeros(1)])["text"]
    assert "[3, 2], expected [2, 3]" in driver.difference_of([np.zeros((2, 3))], [np.zeros((3, 2))])["text"]
    # Engines without a batch axis drop or add axes of size 1.
    assert driver.difference_of([np.ones((1, 1, 3))], [np.ones((1, 3))])["relative"] == 0


def test_every_engine_begins_rounds_equally_often():
    names = ["a", "b", "c"]
    rounds = [driver.rotated(names, index) for index in range(6)]
    assert all(sorted(order) == names for order in rounds)
    assert sorted(order[0] for order in rounds) == sorted(names * 2)
    followers = {(order[i], order[i + 1]) for order in rounds for i in range(2)}
    assert len(followers) == 6, "each comes after each other one"


@pytest.mark.parametrize(
    ("alone", "together", "free"),
    [
        ([[100, 101], [100, 102]], [[105, 109], [100, 101]], True),
        ([[100, 101], [100, 102]], [[100, 101], [118, 119]], False),  # the slower core decides
        ([[100, 200, 200], [100, 200, 200]], [[200, 200], [200, 200]], False),  # disturbed alike, alone and together
        ([[100]], [[100]], False),
    ],
)
def test_calibration_frees_two_cores_only_when_both_are_ours(alone, together, free):
    assert machine.judged(alone, together)["free"] is free


# ---- Processes ----


def test_worker_is_stopped_while_it_has_nothing_to_do(make):
    one = make("fake")
    assert one.ask("start", 1, CORES[:1]) == {"version": "1.0", "note": "a fake", "limit": False}
    status, end = Path(f"/proc/{one.process.pid}/status"), time.monotonic() + 30
    while "State:\tT" not in status.read_text():  # the signal is sent; that it arrived shows a moment later
        assert time.monotonic() < end
        time.sleep(0.01)
    one.end()
    assert one.process.returncode == -9


def test_worker_keeps_its_cores_and_aligned_inputs(make, tmp_path):
    one = make("fake")
    one.ask("start", 1, CORES[:1])
    assert os.sched_getaffinity(one.process.pid) == {CORES[0]}
    files = one.ask("prepare", Work(tmp_path, INPUTS, False), tmp_path)
    assert files["bytes"] == 5
    one.ask("load", files["files"], INPUTS, 1, 1)
    np.testing.assert_array_equal(one.ask("outputs")[0], INPUTS["x"] * 2)
    memory = one.ask("memory")
    assert memory["process_peak"] >= memory["process_anonymous"] > 0
    assert worker.aligned(INPUTS["x"]).ctypes.data % worker.ALIGNMENT == 0


def test_worker_that_ends_tells_its_status_and_last_line(make):
    one = make("dies")
    one.ask("start", 1, CORES[:1])
    one.ask("load", [], INPUTS, 1, 1)
    with pytest.raises(driver.PeerError, match="ended with 7: the last words"):
        for _ in range(9):
            one.ask("turn", 0, 1)


def test_engine_that_cannot_be_imported_is_named(make):
    with pytest.raises(driver.PeerError, match="ImportError: no module named missing"):
        make("missing").ask("start", 1, CORES[:1])


def contest(make, tmp_path, names: list[str], callers: int = 1) -> dict[str, dict]:
    ready = driver.prepare(names, make, Work(tmp_path, INPUTS, False), tmp_path / "artifacts", CORES[:1])
    one = driver.Contest(SMALL)
    one.results = {name: found for name, found in ready.items() if found["verdict"] != "ok"}
    files = {name: found["files"] for name, found in ready.items() if found["verdict"] == "ok"}
    try:
        one.load(files, make, INPUTS, 1, callers, CORES[:1])
        results = (one.run_callers if callers > 1 else one.run)(lambda: False)
        assert all(worker.process.poll() is None for worker in one.workers.values())
        return results
    finally:
        one.end()


def test_contest_survives_engines_that_fail(make, tmp_path):
    found = contest(make, tmp_path, [driver.REFERENCE, "fake", "differs", "dies", "unsupported", "missing"])
    assert found["fake"]["difference"]["relative"] == 0
    assert len(found["fake"]["turn_medians_us"]) == SMALL.rounds
    assert {"median_us", "p10_us", "load_ns", "first_run_ns", "memory", "spread"} <= set(found["fake"])
    assert found["differs"]["verdict"] == "differs" and found["differs"]["ratio"] is None
    assert found["dies"]["verdict"] == "failed" and "ended with 7" in found["dies"]["reason"]
    assert found["unsupported"]["verdict"] == "unsupported"
    assert found["missing"]["verdict"] == "failed"


def test_contest_without_the_reference_has_times_and_no_ratio(make, tmp_path):
    found = contest(make, tmp_path, ["fake"])["fake"]
    assert found["ratio"] is None and found["median_us"] > 0


def test_callers_run_at_the_same_time(make, tmp_path):
    found = contest(make, tmp_path, [driver.REFERENCE, "fake"], callers=3)["fake"]
    assert found["runs"] >= 3 * SMALL.caller_rounds
    assert found["qps"] > 0 and found["p99_us"] >= found["p50_us"]


class Scripted:
    """Stands in for a worker: notes the order in which it is asked."""

    def __init__(self, name: str, order: list[str], time: int = 0, outputs: list[np.ndarray] | None = None) -> None:
        self.name, self.order = name, order
        self.time = time or (2000 if name == driver.REFERENCE else 1000)
        self.results = [np.ones(1)] if outputs is None else outputs

    def ask(self, command: str, *arguments):
        if command == "turn":
            self.order.append(self.name)
        return {"turn": [self.time], "memory": {}, "outputs": self.results}[command]

    def end(self) -> None:
        pass


def test_turns_are_interleaved_and_ratios_are_speeds_over_the_reference():
    order: list[str] = []
    one = driver.Contest(SMALL)
    for name in (driver.REFERENCE, "other"):
        one.workers[name], one.results[name] = Scripted(name, order), {}
    found = one.run(lambda: False)
    assert order == [driver.REFERENCE, "other", "other", driver.REFERENCE] + ["other", driver.REFERENCE] + order[6:]
    assert found["other"]["ratio"] == 2.0 and found[driver.REFERENCE]["ratio"] == 1.0
    assert found["other"]["median_us"] == 1.0


def test_long_cases_stop_after_the_least_rounds():
    one = driver.Contest(driver.Effort(rounds=50, case_seconds=0))
    one.workers["other"], one.results["other"] = Scripted("other", []), {}
    assert len(one.run(lambda: False)["other"]["turn_medians_us"]) == driver.LEAST_ROUNDS


def test_engines_are_held_against_the_limit_of_the_processor(make, tmp_path):
    """Half as many turns a second as the limit: half of it. The limit itself has no outputs, and differs from nobody."""
    named = lambda name: make(name, ROOT / "bench" / "peers" / f"{name}.py")
    work = Work(tmp_path / "none.onnx", {}, True, macs=1_000_000)
    ready = driver.prepare(["limit"], named, work, tmp_path / "artifacts", CORES[:1])
    worker = named("limit")
    assert worker.ask("start", 1, CORES[:1])["limit"] is True
    worker.ask("load", ready["limit"]["files"], {}, 1, 1)
    few, many = min(worker.ask("turn", 0.05, 1000)), work.macs / (16 * 2 * 8)  # ns; 16 lanes, two units, 8 GHz
    assert few > many and worker.ask("outputs") == []
    worker.end()
    unknown = driver.prepare(["limit"], named, Work(tmp_path / "none.onnx", {}, True), tmp_path / "artifacts", CORES[:1])
    assert unknown["limit"]["verdict"] == "unsupported"


def test_part_of_the_limit():
    values = [np.ones(3, np.float32)]
    one = driver.Contest(driver.QUICK)
    for name, taken, outputs in (("onnxruntime", 200, values), ("mopt", 100, values), ("limit", 80, [])):
        one.workers[name], one.results[name] = Scripted(name, [], taken, outputs), {"limit": name == "limit"}
    results = one.run(lambda: False)
    assert results["mopt"]["of_limit"] == pytest.approx(0.8) and results["onnxruntime"]["of_limit"] == pytest.approx(0.4)
    assert "of_limit" not in results["limit"] and results["limit"]["verdict"] == "ok"


def test_geometric_means_are_over_models_only():
    sample = sample_report()
    kernel = {"case": "gemm", "model": "kernels", "static": True, "shapes": {}, "callers": [],
              "runs": [sample["cases"][0]["runs"][0] | {"peers": {"mopt": {"ratio": 9.0}, "limit": {"limit": True}}}]}  # fmt: skip
    sample["cases"] += [kernel, sample["cases"][0]]
    assert "geometric mean of the ratios, 1 thread, mopt: 1.25 (least 1.25; 2 of 2 cases)" in report.text_of(sample)


# ---- Lists that must agree ----


def test_every_engine_has_pins_and_every_pin_an_engine():
    pins = peers.sections(peers.REQUIREMENTS.read_text())
    assert set(pins) == {peers.BASE} | set(options.PEERS) - set(options.ALWAYS)
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for section in pins.values() for pin in section)


def test_every_model_that_can_be_fetched_has_a_case():
    fetched = {name for name, entry in fetch_models.ENTRIES.items() if entry.file.endswith(".onnx")}
    assert fetched == {case.model for case in cases.CASES if not case.write}
    assert len({case.name for case in cases.CASES}) == len(cases.CASES)


def test_cases_are_chosen_by_model_or_by_name():
    assert {case.model for case in cases.chosen(["fashion_resnet"], False)} == {"fashion_resnet"}
    assert [case.name for case in cases.chosen(["fashion_resnet-b64"], False)] == ["fashion_resnet-b64"]
    with pytest.raises(ValueError, match="there is no model or case nothing"):
        cases.chosen(["nothing"], False)


def test_options():
    assert options.parse(["--peers", "openvino"]).peers == [*options.ALWAYS, "openvino"]
    assert options.parse([]).callers == [1, 2, 4, 8] and options.parse(["--callers", ""]).callers == []
    assert options.parse(["--threads", "2,1,2"]).threads == [2, 1]
    for wrong in (["--peers", "nothing"], ["--threads", "0"], ["--callers", "x"]):
        with pytest.raises(SystemExit):
            options.parse(wrong)


# ---- What is written ----


def sample_report() -> dict:
    good = {"verdict": "ok", "ratio": 1.25, "median_us": 10.0, "p10_us": 9.0, "load_ns": 2e6, "artifact_bytes": 1 << 20,
            "memory": {"anonymous": 1 << 21}, "difference": {"relative": 1e-6, "absolute": 1e-6, "text": ""}}  # fmt: skip
    noisy = good | {"verdict": "noisy", "ratio": None}
    refused = {"verdict": "unsupported", "reason": "no <such> operator", "ratio": None}
    run = {
        "threads": 1,
        "callers": 1,
        "measured": True,
        "reason": "",
        "peers": {"mopt": good, "iree": noisy, "tvm": refused},
    }
    not_measured = {"threads": 2, "callers": 1, "measured": False, "reason": "two loops", "peers": {}}
    rates = {"verdict": "ok", "ratio": 0.5, "qps": 100.0, "p50_us": 1.0, "p99_us": 2.0}
    callers = {"threads": 1, "callers": 4, "measured": True, "reason": "", "peers": {"mopt": rates}}
    case = {"case": "m-b1", "model": "m", "static": True, "shapes": {"x": [1, 3]}, "runs": [run, not_measured],
            "callers": [callers]}  # fmt: skip
    names = {name: {"status": "ok", "reason": "", "version": "1.0", "note": ""} for name in ("mopt", "iree", "tvm")}
    names["ncnn"] = {"status": "skipped", "reason": "did not install: no network"}
    state = {"load1": 0.1, "frequency_mhz": None, "governor": "performance", "temperature_c": 50.0, "heat_count": 0}
    return {"format": 2, "quick": True, "peers": names, "overhead": {"mopt": good}, "cases": [case],
            "calibrations": [{"together": 1.01}], "machine": machine.description() | {"before": state}}  # fmt: skip


def test_text_says_noisy_and_not_measured_in_place_of_figures():
    text = report.text_of(sample_report())
    assert re.search(r"^  mopt +10\.0 +9\.0 +1\.25 +2\.0 +2\.0 +1\.00 +1\.0e-06$", text, re.M)
    assert re.search(r"^  iree +10\.0 +9\.0 +noisy ", text, re.M)
    assert "not measured: two loops" in text and "m-b1, 2 threads (x 1x3; sizes fixed)" in text
    assert "skipped ncnn: did not install: no network" in text


def test_page_needs_nothing_else_and_escapes_what_engines_say():
    page = report.page_of(sample_report(), [("Speed", "<svg></svg>")])
    assert "no &lt;such&gt; operator" in page and "<svg></svg>" in page and "noisy" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)


def test_state_of_this_machine_can_be_read():
    assert machine.state()["load1"] >= 0 and machine.description()["cores"] >= 1


# ---- The engine that is judged ----


def test_mopt_peer_agrees_with_onnxruntime(make, tmp_path):
    """Also that the structures of the C interface are what bench/peers/mopt.py says they are."""
    if not shutil.which("mopt", path=str(options.BUILD / "release" / "bin")):
        pytest.skip("needs a build")
    case = cases.chosen(["fashion_resnet-b1"], False)[0]
    inputs = cases.in_model_order(case.path(), case.inputs())
    named = lambda name: make(name, ROOT / "bench" / "peers" / f"{name}.py")
    work = Work(case.path(), inputs, True)
    engines = [driver.REFERENCE, "mopt"]
    ready = driver.prepare(engines, named, work, tmp_path / "artifacts", CORES[:1])
    outputs = {}
    for name in engines:
        assert ready[name]["verdict"] == "ok", ready[name]
        one = named(name)
        one.ask("start", 1, CORES[:1])
        one.ask("load", ready[name]["files"], inputs, 1, 2)
        one.ask("callers", 0.001)
        outputs[name] = one.ask("outputs")
        one.end()
    assert driver.difference_of(outputs["onnxruntime"], outputs["mopt"])["relative"] < 1e-4
