"""The two forms of the fault tests, and the figures that they show.

`make test` runs the short form; `make chaos` the whole one, and prints what each fault showed as a table.
"""

import os
from collections.abc import Callable, Iterable

import pytest

WHOLE = os.environ.pop("RAGCORE_CHAOS", "") == "1"  # the configuration knows no such variable
FIGURES = "figures"

whole = pytest.mark.skipif(not WHOLE, reason="make chaos")

Tell = Callable[..., None]  # what was under way, what was broken, and the figures afterwards by their names


def times(short: int, whole: int) -> int:
    return whole if WHOLE else short


def comes_true(until: Callable[..., object], condition: Callable[[], bool], within: float) -> bool:
    """Waits for it, and for no longer: what did not come true is told first, and asserted then."""
    try:
        until(condition, within=within)
    except AssertionError:
        return False
    return True


def row(under_way: str, broken: str, figures: dict[str, object]) -> str:
    return f"| {under_way} | {broken} | {', '.join(map(_shown, figures, figures.values()))} |"


def _shown(name: str, value: object) -> str:
    words = {True: "", False: "not "}[value] if isinstance(value, bool) else f"{value} "
    return f"{words}{name.replace('_', ' ')}"


def print_figures(terminal: pytest.TerminalReporter) -> None:
    """The table of `docs/reliability.md`, of the tests that ran."""
    reports = (report for group in terminal.stats.values() for report in group if isinstance(report, pytest.TestReport))
    rows = sorted(set(_rows(reports)))
    if rows:
        terminal.section("what the faults showed")
        for line in ("| Under way | Broken | Afterwards |", "|---|---|---|", *rows):
            terminal.write_line(line)


def _rows(reports: Iterable[pytest.TestReport]) -> Iterable[str]:
    for report in reports:
        if report.when == "call":
            yield from (str(value) for name, value in report.user_properties if name == FIGURES)
