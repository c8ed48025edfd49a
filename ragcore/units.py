"""Durations as Go writes them (`30s`, `1m30s`, `1.5h`), sizes (`64MiB`), dates; URLs without secrets, whole texts."""

import re
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit

_SECONDS = {"ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|[\u00b5\u03bc]s|ms|s|m|h)", re.ASCII)
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?", re.ASCII)
_BYTES = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def parse_duration(text: str) -> float:
    """Seconds of a duration in Go's spelling. Raises ValueError."""
    if text == "0":
        return 0.0
    parts = _DURATION.findall(text)
    if "".join(parts) != text or not parts:
        raise ValueError(f"not a duration: {text!r} (write 30s, 1m30s or 1.5h)")
    return sum(_seconds(part) for part in parts)


def _seconds(part: str) -> float:
    number = re.match(r"[\d.]+", part)
    assert number  # noqa: S101  (the pattern begins with digits)
    return float(number.group()) * _SECONDS[part[number.end() :]]


def parse_size(text: str) -> int:
    """Bytes of a size: a number, alone or with B, KiB, MiB or GiB. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"not a size: {text!r} (write 65536, 512KiB or 64MiB)")
    return int(match.group(1)) * _BYTES[match.group(2)]


def isoformat(moment: datetime) -> str:
    """A date as the documents hold it: `2026-08-20T08:12:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    return isoformat(datetime.now(UTC))


def without_password(url: str) -> str:
    """The URL as it may be shown: without user name and password, nor a query, which may hold one too."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def is_web_url(url: object) -> bool:
    """Whether it is an absolute http or https URL, with nothing in it that a reader would skip over."""
    if not isinstance(url, str) or any(char <= " " or char == "\x7f" for char in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def well_formed(text: str) -> str:
    """A text that UTF-8 can hold: half of a surrogate pair becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
