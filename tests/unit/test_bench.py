"""The frame of the benchmark: what a row's target means, and how a run is shown."""

import asyncio
import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.bench.crowd import HEAD_END, TEXT, Recorder
from tests.bench.report import Report, figure
from tests.bench.row import Row, Target, at_least_times, at_most, more_by, times


@pytest.mark.parametrize(
    ("value", "other", "target", "share"),
    [
        (50, None, at_most(100, "100 ms"), 0.5),
        (150, None, at_most(100, "100 ms"), 1.5),
        (20, 10, more_by(12, "12 ms"), 20 / 22),
        (30, 10, times(2), 1.5),
        (30, 10, at_least_times(2), 20 / 30),
        (10, 10, at_least_times(2), 2.0),
        (0, None, at_most(0, "0"), 0.0),
        (1, None, at_most(0, "0"), float("inf")),
        (0, 10, at_least_times(2), float("inf")),
    ],
)
def test_what_a_row_reaches(value: float, other: float | None, target: Target, share: float) -> None:
    row = Row("row", value, "ms", "bare", other, target)
    assert row.share == pytest.approx(share)
    assert row.holds == (share <= 1)


def test_a_row_without_a_target_reaches_nothing() -> None:
    assert Row("row", 3, "ms").share is None
    assert Row("row", 3, "ms").holds is None


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0 ms"), (1.234, "1.23 ms"), (12.34, "12.3 ms"), (123.4, "123 ms"), (12345.6, "12 346 ms")]
)
def test_figures_have_three_digits_that_count(value: float, shown: str) -> None:
    assert figure(value, "ms") == shown


def test_a_run_is_shown_as_a_table_and_written(tmp_path: Path) -> None:
    grows = Row("grows", 2, "s", points=[(10, 1), (100, 9)])
    report = Report(
        [Row("slow", 30, "ms", "bare", 10, times(2), note="of 3"), Row("holds", 1, "", target=grows.target), grows]
    )
    report.write(tmp_path)
    assert report.table().splitlines()[2] == "| slow  | 30 ms (of 3) | bare: 10 ms   | ≤ 2 ×    | **no** |"
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"]
    assert rows[0] == {
        "row": "slow", "value": 30, "unit": "ms", "compared_with": {"what": "bare", "value": 10},
        "to_reach": {"text": "≤ 2 ×", "limit": 20, "holds": False}, "note": "of 3",
    }  # fmt: skip
    assert rows[2]["points"] == [[10, 1], [100, 9]]
    for name in ("bench.svg", "growth.svg"):
        assert "<svg" in (tmp_path / name).read_text()


def framed(text: bytes) -> bytes:
    size = len(text)
    if size < 126:
        return TEXT + bytes([size]) + text
    longer = (126, 2) if size < 1 << 16 else (127, 8)
    return TEXT + bytes([longer[0]]) + size.to_bytes(longer[1], "big") + text


@pytest.mark.parametrize("size", [4, 123, 125, 126, 379, 65535, 65536])
@pytest.mark.parametrize("piece", [1, 7, 50, 1000])
def test_what_a_websocket_got_is_read_however_it_was_cut(size: int, piece: int) -> None:
    async def record() -> Recorder:
        recorder = Recorder(b"", [b'"last"'])
        recorder.connection_made(Mock())
        message = json.dumps("x" * (size - 2)).encode()
        data = b"HTTP/1.1 101" + HEAD_END + framed(message) + b"\x89\0" + framed(message) + framed(b'"last"')
        for at in range(0, len(data), piece * (size // 1000 or 1)):
            recorder.data_received(data[at : at + piece * (size // 1000 or 1)])
        await recorder.over()
        return recorder

    texts = [text for _, text in asyncio.run(record()).messages()]
    assert texts == ["x" * (size - 2)] * 2 + ["last"]
