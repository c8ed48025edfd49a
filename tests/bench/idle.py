"""What a stack takes while nobody asks anything: its watcher, beat, API and workers together, the servers left out.

Memory is the sum of the proportional sets (PSS), where the system tells them: what processes share is counted once.
"""

import tempfile
import time
from pathlib import Path

from deploy.local.services import PROJECT
from deploy.local.stack import Stack
from tests.bench.people import new_person, runtime_of
from tests.bench.processes import Usage
from tests.bench.row import Row, at_most

SECONDS = 60.0
SETTLED = 10.0  # seconds after the start


def measure(quick: bool) -> list[Row]:
    seconds, names = 10.0 if quick else SECONDS, [service.name for service in PROJECT]
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack:
        new_person(runtime_of(stack), "quiet.localhost")
        time.sleep(2.0 if quick else SETTLED)
        before = {name: Usage.of(stack, name) for name in names}
        time.sleep(seconds)
        after = {name: Usage.of(stack, name) for name in names}
    share = {name: 100 * (after[name].seconds - before[name].seconds) / seconds for name in names}
    mebibytes = {name: usage.memory / 2**20 for name, usage in after.items()}
    return [
        Row("idle, all processes", sum(share.values()), "%", target=at_most(3, "3 % of a core"), note=_each(share)),
        Row("idle, memory", sum(mebibytes.values()), "MiB", target=at_most(450, "450 MiB"), note=_each(mebibytes)),
    ]


def _each(figures: dict[str, float]) -> str:
    return ", ".join(
        f"{name} {figure:.2g}" if figure < 10 else f"{name} {figure:.0f}" for name, figure in figures.items()
    )
