"""In which order the files of tests run, and which of them in one process."""

from xdist.scheduler import LoadFileScheduling

# What takes long begins first, so that no process is left alone with it at the end: what waits and what
# computes by turns.
LONGEST = (
    "integration/schedule/test_beat.py",
    "integration/page/",
    "integration/indexing/test_owed.py",
    "integration/faults/",
    "integration/local/test_local_demo.py",
    "integration/cli/test_cli.py",
    "integration/api/test_outages.py",
    "integration/indexing/test_outage.py",
    "integration/watch/test_by_itself.py",
    "integration/indexing/",
    "integration/watch/",
    "integration/local/",
    "integration/cli/",
    "integration/test_",
    "integration/",
)
TOGETHER = "tests/integration/page/"  # one browser, and one stack, for all of them


def place(nodeid: str) -> int:
    return next((place for place, part in enumerate(LONGEST) if part in nodeid), len(LONGEST))


class ByFile(LoadFileScheduling):
    """Each file as a whole, and the folder of TOGETHER."""

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER if nodeid.startswith(TOGETHER) else super()._split_scope(nodeid)
