"""Each module of rows in a process of its own, one after the other: none is measured with what another left."""

import importlib
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.bench.row import Row

MODULES = (
    "first_delta", "chunk_to_websocket", "many_answers", "costs", "held_answers", "sockets", "accepted",
    "long_conversations", "grounded", "feed_batch", "whole_walk", "first_indexing", "growth", "idle",
)  # fmt: skip


def measured(modules: list[str], quick: bool) -> list[Row]:
    rows: list[Row] = []
    for module in modules:
        print(f"{module} ...", file=sys.stderr, flush=True)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            rows += process.submit(_rows_of, module, quick).result()
    return rows


def _rows_of(module: str, quick: bool) -> list[Row]:
    rows: list[Row] = importlib.import_module(f"tests.bench.{module}").measure(quick)
    return rows
