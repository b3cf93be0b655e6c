"""What people read: blocks of text, and one HTML page that needs nothing else."""

from __future__ import annotations

import html
import json
import statistics
from pathlib import Path

from driver import REFERENCE

RUN_HEAD = f"  {'engine':12} {'median us':>11} {'p10 us':>11} {'ratio':>12} {'load ms':>9} {'anon MB':>8} {'file MB':>8} {'difference':>10} {'of limit':>8}"
CALLER_HEAD = f"  {'engine':12} {'QPS':>11} {'P50 us':>11} {'P99 us':>11} {'ratio':>12}"
MEGA = 1 << 20
NOTES = [
    "ratio: onnxruntime's time over the engine's (for callers: the engine's QPS over onnxruntime's), so more than 1 is "
    "faster; the median of the ratios of neighbouring turns.",
    "noisy: the middle half of those ratios spans more than a tenth of their median, so there is no ratio. throttled: a "
    "processor slowed down because of heat meanwhile. differs: the outputs are not onnxruntime's.",
    "anon MB: anonymous memory that came with importing the engine, loading and running, without Python and numpy. file "
    "MB: what a product ships. difference: largest of any output, over the largest value of that output.",
    "of limit: of the multiply-adds that one core can do in that time, measured in turns with the engines.",
    "Figures for several threads or callers exist only where two fixed loops on two cores took at most 1.1 times as long "
    "as one, before and after.",
]


def _ratio(row: dict) -> str:
    return f"{row['ratio']:.2f}" if row.get("ratio") is not None else row.get("verdict", "")


def _number(value: float | None, form: str = ".1f") -> str:
    return "" if value is None else format(value, form)


def _run_cells(name: str, row: dict) -> list[str]:
    difference, memory = row.get("difference") or {}, row.get("memory") or {}
    relative = difference.get("relative")
    return [
        name,
        _number(row.get("median_us")),
        _number(row.get("p10_us")),
        _ratio(row),
        _number(row["load_ns"] / 1e6 if "load_ns" in row else None),
        _number(memory["anonymous"] / MEGA if memory else None),
        _number(row["artifact_bytes"] / MEGA if "artifact_bytes" in row else None, ".2f"),
        _number(relative, ".1e") if relative != 0 else "0",
        _number(row.get("of_limit"), ".1%"),
    ]


def _caller_cells(name: str, row: dict) -> list[str]:
    figures = [_number(row.get("qps")), _number(row.get("p50_us")), _number(row.get("p99_us"))]
    return [name, *figures, _ratio(row)]


def _plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _title(case: dict, run: dict, word: str) -> str:
    shapes = ", ".join(f"{name} {'x'.join(str(size) for size in shape)}" for name, shape in case["shapes"].items())
    return f"{case['case']}, {_plural(run[word + 's'], word)} ({shapes}{'; sizes fixed' if case['static'] else ''})"


def _block(title: str, head: str, run: dict, cells) -> str:
    if not run["measured"]:
        return f"{title}\n  not measured: {run['reason']}"
    widths = [12, 11, 11, 12, 9, 8, 8, 10, 8] if head == RUN_HEAD else [12, 11, 11, 11, 12]
    lines = [title, head]
    for name, row in run["peers"].items():
        if row.get("reason"):
            lines.append(f"  {name:12} {row['verdict']}: {row['reason']}")
            continue
        texts = cells(name, row)
        lines.append(
            f"  {texts[0]:12} " + " ".join(f"{text:>{width}}" for text, width in zip(texts[1:], widths[1:])).rstrip()
        )
    return "\n".join(lines)


def run_lines(case: dict, run: dict) -> str:
    return _block(_title(case, run, "thread"), RUN_HEAD, run, _run_cells)


def caller_lines(case: dict, run: dict) -> str:
    return _block(_title(case, run, "caller"), CALLER_HEAD, run, _caller_cells)


def _skipped(report: dict) -> list[str]:
    return [f"{name}: {peer['reason']}" for name, peer in report["peers"].items() if peer["status"] != "ok"]


def _overhead(report: dict) -> str:
    found = [f"{name} {row['median_us']:.1f}" for name, row in report["overhead"].items() if "median_us" in row]
    return ", ".join(found) or "not measured"


def _calibration(report: dict) -> str:
    values = [record["together"] for record in report.get("calibrations", []) if record["together"] is not None]
    if not values:
        return "one core"
    return f"two loops at a time took {min(values):.2f} to {max(values):.2f} times as long as one, {len(values)} samples"


def _machine_rows(report: dict) -> list[tuple[str, str]]:
    machine = report["machine"]
    before, after = machine["before"], machine.get("after", machine["before"])
    rows = [("processor", f"{machine['processor']} ({', '.join(machine['features'])})"),
            ("cores", f"{machine['cores']} ({_plural(machine['processors'], 'logical processor')}"
                      f"{', virtual machine' if machine['hypervisor'] else ''})"),
            ("system", f"{machine['system']}, Python {machine['python']}")]  # fmt: skip
    names = {"load1": "load", "frequency_mhz": "MHz", "governor": "governor", "temperature_c": "Celsius",
             "heat_count": "slowed by heat, times"}  # fmt: skip
    for key, name in names.items():
        values = ["unknown" if state[key] is None else format(state[key], ".0f" if key != "load1" else ".2f")
                  if not isinstance(state[key], str) else state[key] for state in (before, after)]  # fmt: skip
        rows.append((name, f"{values[0]} before, {values[1]} after"))
    return [*rows, ("calibration", _calibration(report))]


def _means(report: dict) -> list[str]:
    """Geometric means of the ratios over models, for engines that have one in all of those that were measured."""
    lines = []
    counts = sorted({run["threads"] for case in report["cases"] for run in case["runs"]})
    for threads in counts:
        runs = [run for case in report["cases"] for run in case["runs"]
                if run["threads"] == threads and run["measured"] and not any(row.get("limit") for row in run["peers"].values())]  # fmt: skip
        for name in report["peers"]:
            ratios = [run["peers"][name]["ratio"] for run in runs if run["peers"].get(name, {}).get("ratio")]
            if ratios and name != REFERENCE:
                lines.append(f"geometric mean of the ratios, {_plural(threads, 'thread')}, {name}: "
                             f"{statistics.geometric_mean(ratios):.2f} (least {min(ratios):.2f}; {len(ratios)} of {len(runs)} cases)")  # fmt: skip
    return lines


def closing(report: dict) -> str:
    lines = [*_means(report), f"a call alone costs (us): {_overhead(report)}", *NOTES]
    engines = [
        f"{name} {peer.get('version', '')}".strip() for name, peer in report["peers"].items() if peer["status"] == "ok"
    ]
    lines.append(f"engines: {', '.join(engines)}")
    lines += [f"skipped {text}" for text in _skipped(report)]
    lines += [f"{name}: {value}" for name, value in _machine_rows(report)]
    return "\n".join(lines)


def text_of(report: dict) -> str:
    blocks = []
    for case in report["cases"]:
        blocks += [run_lines(case, run) for run in case["runs"]] + [caller_lines(case, run) for run in case["callers"]]
    return "\n\n".join([*blocks, closing(report)]) + "\n"


# ---- HTML ----

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; margin: .5em 0 1.5em; font-variant-numeric: tabular-nums }
th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child, td.text { text-align: left }
tr.mopt td { font-weight: 600 }
h2 { margin-top: 2em } h3 { margin: 1.2em 0 .2em; font-size: 1em }
svg { max-width: 100%; height: auto }
.note { color: #555 }
"""


def _table(heads: list[str], run: dict, cells) -> str:
    if not run["measured"]:
        return f'<p class="note">not measured: {html.escape(run["reason"])}</p>'
    rows = []
    for name, row in run["peers"].items():
        if row.get("reason"):
            text = html.escape(f"{row['verdict']}: {row['reason']}")
            body = f'<td>{name}</td><td class="text" colspan="{len(heads) - 1}">{text}</td>'
        else:
            body = "".join(f"<td>{html.escape(text)}</td>" for text in cells(name, row))
        rows.append(f'<tr class="{html.escape(name)}">{body}</tr>')
    head = "".join(f"<th>{text}</th>" for text in heads)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def page_of(report: dict, plots: list[tuple[str, str]]) -> str:
    """`plots`: (title, SVG)."""
    run_heads = ["engine", "median µs", "p10 µs", "ratio", "load ms", "anon MB", "file MB", "difference", "of limit"]
    caller_heads = ["engine", "QPS", "P50 µs", "P99 µs", "ratio"]
    parts = [f"<!doctype html><html lang='en'><meta charset='utf-8'><title>mopt bench</title><style>{STYLE}</style>",
             "<h1>mopt bench</h1>"]  # fmt: skip
    if report["quick"]:
        parts.append("<p>Short turns (--quick): good for seeing that everything works, less good for figures.</p>")
    for title, drawing in plots:
        parts.append(f"<h2>{html.escape(title)}</h2>{drawing}")
    parts += [f'<p class="note">{html.escape(note)}</p>' for note in NOTES]
    parts += [f"<p>{html.escape(line)}</p>" for line in _means(report)]
    parts.append("<h2>Figures</h2>")
    for case in report["cases"]:
        for run in case["runs"]:
            parts.append(f"<h3>{html.escape(_title(case, run, 'thread'))}</h3>" + _table(run_heads, run, _run_cells))
        for run in case["callers"]:
            parts.append(f"<h3>{html.escape(_title(case, run, 'caller'))}</h3>" + _table(caller_heads, run, _caller_cells))
    parts.append("<h2>Engines</h2><table><tr><th>engine</th><th>version</th><th>note</th></tr>")
    for name, peer in report["peers"].items():
        note = peer.get("note", "") if peer["status"] == "ok" else f"skipped: {peer['reason']}"
        cells = "".join(f'<td class="text">{html.escape(text)}</td>' for text in (name, peer.get("version", ""), note))
        parts.append(f"<tr>{cells}</tr>")
    parts.append(f"</table><p>A call alone costs (µs): {html.escape(_overhead(report))}</p><h2>Machine</h2><table>")
    parts += [f'<tr><td>{html.escape(name)}</td><td class="text">{html.escape(value)}</td></tr>'
              for name, value in _machine_rows(report)]  # fmt: skip
    parts.append("</table></html>")
    return "\n".join(parts)


def write(report: dict, folder: Path) -> list[Path]:
    paths = [folder / name for name in ("bench.json", "bench.txt", "bench.html")]
    paths[0].write_text(json.dumps(report, indent=2, default=str) + "\n")
    paths[1].write_text(text_of(report))
    import plots

    paths[2].write_text(page_of(report, plots.drawings(report)))
    return paths
