"""How seldom a process that serves for long looks for what only refers to itself."""

import gc

# Objects that are new before the youngest are looked through (Python's own: 700), and how many looks at the one
# generation come before one at the next.
YOUNG, MIDDLE, OLD = 5000, 20, 20


def collect_seldom() -> None:
    """Once all is imported: that stays, and is not looked through again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
