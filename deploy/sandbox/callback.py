"""The one POST that tells a client how an indexing task ended."""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import requests

from ragcore.loopback import resolve

TIMEOUT = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    url: str
    token: str
    partition: str
    file_id: str
    succeeded: bool
    metadata: dict[str, Any]


class Callbacks:
    """Sends beside the indexing, so that a slow receiver holds no task."""

    def __init__(self, parallel: int = 8) -> None:
        self._pool = ThreadPoolExecutor(parallel, thread_name_prefix="callback")

    def send(self, outcome: Outcome) -> None:
        if outcome.url:
            self._pool.submit(_post, outcome)


def _post(outcome: Outcome) -> None:
    """A failure is logged and nothing more: openRAG does not try again either."""
    body = {
        "partition": outcome.partition,
        "file_id": outcome.file_id,
        "status": "success" if outcome.succeeded else "error",
        "metadata": outcome.metadata,
    }
    url, host = resolve(outcome.url)
    headers = {"Host": host}
    if outcome.token:
        headers["Authorization"] = f"Bearer {outcome.token}"
    try:
        with requests.Session() as session:
            session.trust_env = False
            session.post(url, json=body, headers=headers, timeout=TIMEOUT, allow_redirects=False)
    except requests.RequestException as error:
        _log.warning("callback for %s not delivered: %s", outcome.file_id, error)
