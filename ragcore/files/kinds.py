"""The mime type and the class of a file, from its name."""

import mimetypes
import os

UNKNOWN = "application/octet-stream"

_LACKING = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".cozy-note": "text/vnd.cozy.note+markdown",
    ".docs-note": "text/markdown",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".epub": "application/epub+zip",
    ".yaml": "text/yaml",
    ".yml": "text/yaml",
    ".toml": "text/toml",
    ".rs": "text/rust",
    ".go": "text/x-go",
    ".ts": "text/typescript",
    ".webp": "image/webp",
    ".heic": "image/heic",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".mkv": "video/x-matroska",
    ".ics": "text/calendar",
    ".rtf": "application/rtf",
    ".rst": "text/x-rst",
    ".log": "text/plain",
    ".jsonl": "application/json",
    ".sql": "application/sql",
    ".java": "text/x-java",
    ".rb": "text/x-ruby",
    ".php": "text/x-php",
    ".m4a": "audio/mp4",
    ".7z": "application/x-7z-compressed",
    ".rar": "application/vnd.rar",
    ".gz": "application/gzip",
    ".tgz": "application/gzip",
    ".bz2": "application/x-bzip2",
    ".xz": "application/x-xz",
    ".zst": "application/zstd",
}
# The standard library's own table, not the machine's: the same name has the same type everywhere.
_LIBRARY = mimetypes.MimeTypes()
_TYPES = {**_LIBRARY.types_map[False], **_LIBRARY.types_map[True], **_LACKING}

_CLASSES = {
    "pdf": ("application/pdf",),
    "spreadsheet": (
        "application/vnd.ms-excel",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.oasis.opendocument.spreadsheet",
        "text/csv",
    ),
    "slide": (
        "application/vnd.ms-powerpoint",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.oasis.opendocument.presentation",
    ),
    "code": (
        "application/json",
        "application/javascript",
        "text/javascript",
        "text/typescript",
        "application/xml",
        "text/xml",
        "text/css",
        "text/html",
        "text/yaml",
        "text/toml",
        "text/rust",
        "text/x-go",
        "text/x-python",
        "text/x-c",
        "text/x-java",
        "text/x-ruby",
        "text/x-php",
        "application/sql",
        "application/x-sh",
    ),
    "text": (
        "application/msword",
        "application/rtf",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.oasis.opendocument.text",
        "application/epub+zip",
    ),
    "zip": (
        "application/zip",
        "application/gzip",
        "application/x-tar",
        "application/x-bzip2",
        "application/x-7z-compressed",
        "application/x-xz",
        "application/zstd",
        "application/vnd.rar",
    ),
}
_CLASS_OF = {mime: name for name, mimes in _CLASSES.items() for mime in mimes}
_FAMILIES = ("image", "video", "audio", "text")


def extension(name: str) -> str:
    """The ending of a name, with its dot (`.txt`), as it is written."""
    return os.path.splitext(name)[1]


def mime_of(name: str) -> str:
    """The mime type of a file's name; `application/octet-stream` when it is unknown."""
    return _TYPES.get(extension(name).lower(), UNKNOWN)


def class_of(mime: str) -> str:
    """One of the classes that Cozy gives to files (`image`, `pdf`, `text`...), `files` for all else."""
    family = mime.partition("/")[0]
    return _CLASS_OF.get(mime) or (family if family in _FAMILIES else "files")
