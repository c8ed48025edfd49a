"""The content of files, under `fs.url`: `<fs.url>/<domain>/<path of the parent>/<name>`."""

from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from ragcore.errors import NotFound, Retryable


class Storage:
    """A `file://` storage. Links are not followed out of an instance's folder."""

    def __init__(self, url: str) -> None:
        self.root = Path(unquote(urlsplit(url).path))

    def open(self, domain: str, path: str) -> BinaryIO:
        """The content at an absolute path of the instance.

        Raises NotFound when the content is missing, Retryable when the storage cannot be reached.
        """
        place = self._place(domain, path)
        try:
            return place.open("rb")
        except FileNotFoundError:
            if not self.root.is_dir():
                raise Retryable("the storage of the files cannot be reached") from None
            raise NotFound("the content of the file is missing from the storage") from None
        except OSError as error:
            raise Retryable(f"the storage of the files cannot be read ({error.strerror})") from None

    def _place(self, domain: str, path: str) -> Path:
        home = self.root / domain
        place = home / path.lstrip("/")
        if not place.resolve().is_relative_to(home.resolve()):
            raise NotFound("the content of the file is missing from the storage")
        return place
