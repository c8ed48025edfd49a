"""The `ragcore` command, for tests."""

import os
import subprocess

from deploy.local.layout import RAGCORE

Result = subprocess.CompletedProcess[str]


def run(*words: str, **environment: str) -> Result:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAGCORE_")}
    return subprocess.run(
        [RAGCORE, *words], env=clean | environment, capture_output=True, text=True, timeout=60, check=False
    )


def one_line(result: Result) -> str:
    assert result.returncode == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line
