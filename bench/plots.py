"""The plots of the page, as SVG text."""

from __future__ import annotations

import io
import re

import matplotlib
import matplotlib.patches
import matplotlib.ticker

matplotlib.use("svg")
import matplotlib.pyplot as plt

REFERENCE = "onnxruntime"


def _colours(report: dict) -> dict[str, str]:
    """The first, mopt, in the one that stands out."""
    return {name: f"C{(index + 3) % 10}" for index, name in enumerate(report["peers"])}


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
    height, colours = 0.8 / len(peers), _colours(report)
    figure, axes = plt.subplots(figsize=(9, 1 + len(cases) * (0.25 + 0.14 * len(peers))))
    for row, (_, run) in enumerate(cases):
        for index, name in enumerate(peers):
            place, entry = row + (index - (len(peers) - 1) / 2) * height, run["peers"].get(name)
            if not entry:
                continue
            ratio = entry.get("ratio")
            if ratio:
                axes.barh(place, ratio - 1, height * 0.9, left=1, color=colours[name])
            side, text = (1, f"{ratio:.2f}") if ratio and ratio >= 1 else (-1, f"{ratio:.2f}") if ratio else (1, "")
            text = text or f"{name}: {entry.get('verdict', '')}"
            axes.annotate(text, (ratio or 1, place), va="center", fontsize=6, xytext=(3 * side, 0),
                          textcoords="offset points", ha="left" if side > 0 else "right",
                          color="black" if ratio else "gray")  # fmt: skip
    values = [entry["ratio"] for _, run in cases for entry in run["peers"].values() if entry.get("ratio")]
    axes.set_xscale("log")
    axes.set_xlim(min([*values, 0.5]) / 1.3, max([*values, 2]) * 1.3)
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(cases)), [case["case"] for case, _ in cases])
    axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_xlabel(f"speed over that of {REFERENCE} (1: the same; logarithmic)")
    marks = [matplotlib.patches.Patch(color=colours[name], label=name) for name in peers]
    axes.legend(handles=marks, fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1))
    return _svg(figure)


def _callers(report: dict) -> str | None:
    cases = [case for case in report["cases"] if sum(run["measured"] for run in case["callers"]) > 1]
    if not cases:
        return None
    columns = min(3, len(cases))
    rows, colours = -(-len(cases) // columns), _colours(report)
    figure, grid = plt.subplots(rows, columns, figsize=(3.4 * columns, 2.6 * rows), squeeze=False)
    for axes in grid.flat[len(cases) :]:
        axes.axis("off")
    for axes, case in zip(grid.flat, cases):
        runs = [run for run in case["callers"] if run["measured"]]
        for name in report["peers"]:
            entries = [(run["callers"], run["peers"].get(name, {})) for run in runs]
            points = [(count, entry["qps"]) for count, entry in entries if "qps" in entry and entry["verdict"] != "differs"]
            if points:
                axes.plot(*zip(*points), marker="o", markersize=3, color=colours[name])
        axes.set_title(case["case"], fontsize=8)
        axes.set_xticks([run["callers"] for run in runs])
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
    figure.supxlabel("callers", fontsize=8)
    figure.supylabel("runs a second", fontsize=8)
    figure.tight_layout()
    marks = [matplotlib.patches.Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=marks, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return _svg(figure)


def drawings(report: dict) -> list[tuple[str, str]]:
    """(title, SVG) of each plot that has something to show."""
    threads = sorted({run["threads"] for case in report["cases"] for run in case["runs"]})
    found = [(f"Speed with {count} thread{'' if count == 1 else 's'}", _ratios(report, count)) for count in threads]
    found.append(("Several callers", _callers(report)))
    return [(title, drawing) for title, drawing in found if drawing]
