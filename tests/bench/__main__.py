"""`make bench`, or `python -m tests.bench [--quick] [ROW...]`: each row in a process of its own, one after the other.

Prints a table, and writes it as `bench.json`, `bench.svg` and `growth.svg` into `.ragcore/bench`.
"""

import sys
from pathlib import Path

from tests.bench.report import Report
from tests.bench.run import MODULES, measured

FOLDER = Path(".ragcore/bench")


def main() -> int:
    words = sys.argv[1:]
    asked = [word for word in words if not word.startswith("-")] or list(MODULES)
    if unknown := set(asked) - set(MODULES):
        print(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(MODULES)}", file=sys.stderr)
        return 2
    report = Report(measured(asked, "--quick" in words))
    report.write(FOLDER)
    print(report.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
