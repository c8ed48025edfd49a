import subprocess
import sys

SEEN = """
import gc
from ragcore.garbage import collect_seldom
collect_seldom()
print(gc.get_threshold() > (700, 10, 10), gc.get_freeze_count() > 1000)
"""


def test_what_is_imported_is_not_looked_through_again() -> None:
    """In a process of its own: it holds for all of it."""
    assert subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True).stdout == "True True\n"
