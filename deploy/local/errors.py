"""What can go wrong with the embedded stack: each error is one line for the person who started it."""

from __future__ import annotations


class StackError(Exception):
    """The stack cannot go on. Its text is one clear line."""


class StartFailed(StackError):
    """A process did not come up. `port_taken`: another process had the port first."""

    def __init__(self, message: str, *, port_taken: bool = False) -> None:
        super().__init__(message)
        self.port_taken = port_taken


class AlreadyRunning(StackError):
    """A stack runs on this data folder already."""
