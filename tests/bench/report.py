"""The rows of a run as a table, as JSON and as two charts: all of them beside their limits, and how figures grow."""

import json
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pygal
from pygal.style import Style

from tests.bench.row import Row

STYLE = Style(background="#ffffff", plot_background="#ffffff", colors=("#297ef2", "#f1b61e", "#35ce68", "#ff7f1b"))
MOST_SHOWN = 200  # percent of a limit


@dataclass(frozen=True)
class Report:
    rows: list[Row]

    def table(self) -> str:
        """In Markdown, as `docs/performance.md` shows it."""
        head = ("Row", "Figure", "Compared with", "To reach", "")
        cells = [head, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
        lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bench.json").write_text(json.dumps(self._document(), indent=2, ensure_ascii=False) + "\n")
        _limits(self.rows).render_to_file(str(folder / "bench.svg"))
        if any(row.points for row in self.rows):
            _growth(self.rows).render_to_file(str(folder / "growth.svg"))

    def _document(self) -> dict[str, Any]:
        return {"machine": _machine(), "rows": [_json(row) for row in self.rows]}


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    beside = "" if row.other is None else f"{row.beside}: {figure(row.other, row.unit)}"
    verdict = {None: "", True: "yes", False: "**no**"}[row.holds]
    return (row.name, f"{figure(row.value, row.unit)}{row.note and f' ({row.note})'}", beside,
            row.target.text if row.target else "", verdict)  # fmt: skip


def figure(value: float, unit: str) -> str:
    """Three digits that count."""
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".replace(",", " ").rstrip()


def _json(row: Row) -> dict[str, Any]:
    doc: dict[str, Any] = {"row": row.name, "value": row.value, "unit": row.unit}
    if row.other is not None:
        doc["compared_with"] = {"what": row.beside, "value": row.other}
    if row.target:
        doc["to_reach"] = {"text": row.target.text, "limit": row.limit, "holds": row.holds}
    if row.note:
        doc["note"] = row.note
    if row.points:
        doc["points"] = row.points
    return doc


def _machine() -> dict[str, Any]:
    return {
        "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "commit": _commit(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _limits(rows: list[Row]) -> Any:
    """Each row's share of what is allowed."""
    shown = [row for row in rows if row.share is not None]
    chart = pygal.HorizontalBar(
        style=STYLE, show_legend=False, js=[], height=120 + 28 * len(shown), range=(0, MOST_SHOWN),
        title="Percent of what is allowed: up to 100 a row holds", truncate_label=60,
    )  # fmt: skip
    chart.x_labels = [row.name for row in shown]
    chart.add("share", [{"value": min(100 * (row.share or 0), MOST_SHOWN), "label": _cells(row)[1]} for row in shown])
    return chart


def _growth(rows: list[Row]) -> Any:
    """On two logarithmic axes: what grows as fast as its cause rises by one decade in each."""
    chart = pygal.XY(
        style=STYLE, js=[], logarithmic=True, xrange=None, height=520, legend_at_bottom=True, truncate_legend=80,
        legend_at_bottom_columns=1, title="How figures grow, beside the smallest of each (both ×)",
    )  # fmt: skip
    chart.x_labels = chart.y_labels = [1, 10, 100, 1000, 10_000]
    for row in rows:
        if row.points:
            (first, least), *_ = row.points
            chart.add(row.name, [(size / first, value / least) for size, value in row.points])
    return chart
