"""`make demo`, without a terminal: from nothing to two answers."""

import re
import subprocess
import sys
from pathlib import Path

from deploy.local.layout import CHECKOUT


def test_the_demo_answers_two_questions_from_the_right_documents(tmp_path: Path) -> None:
    for run in ("first", "again"):
        done = subprocess.run(
            [sys.executable, "-m", "deploy.local", "demo", "--data", str(tmp_path / "demo")],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "23 of 23 files can be asked about." in done.stdout
        boiler, club = done.stdout.split("$ ragcore ask")[1:]
        assert "yellow gas valve" in boiler
        assert "  - Boiler handbook.pdf, page 2" in boiler
        assert "38 euros" in club
        assert "  - Membership rules.docx" in club
        assert len(re.findall(r"^  (?:\.venv/bin/ragcore|curl) ", club, re.MULTILINE)) == 3
        assert "export TOKEN=ey" in club
        assert re.search(r"^  http://alice\.localhost:\d+/#token=ey\S+$", club, re.MULTILINE)
        assert ("0 added" in done.stdout) == (run == "again")
