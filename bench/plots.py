"""The plots of the page, as SVG text."""

from __future__ import annotations

import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

NAMES = ["mopt", "onnxruntime", "openvino", "iree", "mnn", "ncnn", "tvm"]
COLOURS = {name: f"C{(index + 3) % 10}" for index, name in enumerate(NAMES)}  # mopt in the one that stands out
REFERENCE = "onnxruntime"


def _svg(figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return re.sub(r"^.*?(?=<svg)", "", stream.getvalue(), flags=re.DOTALL)


def _ratios(report: dict, threads: int) -> str | None:
    """Bars from 1 to the ratio: to the right faster than onnxruntime, to the left slower."""
    cases = [
        (case, run) for case in report["cases"] for run in case["runs"] if run["threads"] == threads and run["measured"]
    ]
    peers = [name for name in report["peers"] if name != REFERENCE and any(name in run["peers"] for _, run in cases)]
    if not cases or not peers:
        return None
    height = 0.8 / len(peers)
    figure, axes = plt.subplots(figsize=(9, 1 + len(cases) * (0.25 + 0.14 * len(peers))))
    for index, name in enumerate(peers):
        places, values = [], []
        for row, (_, run) in enumerate(cases):
            place, entry = row + (index - (len(peers) - 1) / 2) * height, run["peers"].get(name, {})
            if entry.get("ratio"):
                places.append(place)
                values.append(entry["ratio"])
            else:
                axes.text(1.02, place, entry.get("verdict", ""), va="center", fontsize=6, color="gray")
        bars = axes.barh(places, [value - 1 for value in values], height * 0.9, left=1, label=name,
                         color=COLOURS.get(name))  # fmt: skip
        for bar, value in zip(bars, values):
            axes.annotate(f"{value:.2f}", (value, bar.get_y() + bar.get_height() / 2), va="center", fontsize=6,
                          xytext=(2 if value >= 1 else -2, 0), textcoords="offset points",
                          ha="left" if value >= 1 else "right")  # fmt: skip
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5) / 1.3, max(high, 2) * 1.3)
    axes.set_yticks(range(len(cases)), [case["case"] for case, _ in cases])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.set_xlabel(f"speed over that of {REFERENCE} (1: the same; logarithmic)")
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1))
    return _svg(figure)


def _callers(report: dict) -> str | None:
    cases = [case for case in report["cases"] if sum(run["measured"] for run in case["callers"]) > 1]
    if not cases:
        return None
    columns = min(3, len(cases))
    rows = -(-len(cases) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(3.4 * columns, 2.6 * rows), squeeze=False)
    for axes in grid.flat[len(cases) :]:
        axes.axis("off")
    for axes, case in zip(grid.flat, cases):
        runs = [run for run in case["callers"] if run["measured"]]
        for name in report["peers"]:
            points = [(run["callers"], run["peers"][name]["qps"]) for run in runs if run["peers"].get(name, {}).get("qps")]
            if points:
                axes.plot(*zip(*points), marker="o", markersize=3, label=name, color=COLOURS.get(name))
        axes.set_title(case["case"], fontsize=8)
        axes.set_xticks([run["callers"] for run in runs])
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
    grid[0][0].legend(fontsize=6)
    figure.supxlabel("callers", fontsize=8)
    figure.supylabel("runs a second", fontsize=8)
    figure.tight_layout()
    return _svg(figure)


def drawings(report: dict) -> list[tuple[str, str]]:
    """(title, SVG) of each plot that has something to show."""
    threads = sorted({run["threads"] for case in report["cases"] for run in case["runs"]})
    found = [(f"Speed with {count} thread{'' if count == 1 else 's'}", _ratios(report, count)) for count in threads]
    found.append(("Several callers", _callers(report)))
    return [(title, drawing) for title, drawing in found if drawing]
