"""What a process said in its log, for the one line that tells why it is not there."""

from __future__ import annotations

import re
from pathlib import Path

LONGEST_LINE = 300
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TROUBLE = re.compile(r"error|exception|fatal|cannot|can't|refused|denied|not found|in use", re.IGNORECASE)
PORT_TAKEN = re.compile(r"address already in use|EADDRINUSE|connection in use", re.IGNORECASE)


def read_from(log: Path, start: int) -> str:
    """The text of a log from the byte `start` on."""
    with log.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")


def last_words(text: str) -> str:
    """The last line that speaks of trouble, else the last line: a stack trace often goes on after it."""
    lines = [line.strip() for line in COLOUR.sub("", text).splitlines() if line.strip()]
    if not lines:
        return "it said nothing"
    troubled = [line for line in lines[-40:] if TROUBLE.search(line)]
    return (troubled or lines)[-1][:LONGEST_LINE]


def says_port_taken(text: str) -> bool:
    return PORT_TAKEN.search(text) is not None
