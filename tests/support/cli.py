"""The `ragcore` command, for tests: in a process of its own, forked from one that has imported it already.

Importing it is what takes a command most of its time. That it starts by its name too, each stack shows.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.cli import main

TIMEOUT = 60.0  # seconds

Result = subprocess.CompletedProcess[str]

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload([__name__])


def run(*words: str, **environment: str) -> Result:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAGCORE_")}
    return run_in(clean | environment, *words)


def run_in(environment: Mapping[str, str], *words: str) -> Result:
    """With this environment alone."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        process = _forking.Process(target=_command, args=(words, dict(environment), out, err))
        process.start()
        process.join(TIMEOUT)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, TIMEOUT)
        return subprocess.CompletedProcess(words, process.exitcode, out.read_text(), err.read_text())


def _command(words: Sequence[str], environment: Mapping[str, str], out: Path, err: Path) -> None:
    for path, stream in ((out, sys.stdout), (err, sys.stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream.fileno())
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["ragcore", *words]
    main()


def one_line(result: Result) -> str:
    assert result.returncode == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line
