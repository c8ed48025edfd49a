"""`python -m deploy.sandbox --port P --data DIR`: the stand-in under gunicorn, until SIGTERM."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from deploy.sandbox.app import create_app
from deploy.sandbox.settings import Llm, Settings

# Each streamed completion holds a thread.
THREADS = 400
CONNECTIONS = 4000


class Server(BaseApplication):
    def __init__(self, host: str, port: int, data: Path) -> None:
        self._address = f"{host}:{port}"
        self._data = data
        super().__init__()

    def load_config(self) -> None:
        wanted: dict[str, Any] = {
            "bind": self._address,
            "workers": 1,
            "worker_class": "gthread",
            "threads": THREADS,
            "worker_connections": CONNECTIONS,
            "backlog": 2048,
            "keepalive": 75,
            "timeout": 0,
            "graceful_timeout": 1,
            "control_socket_disable": True,
        }
        for name in self.cfg.settings.keys() & wanted.keys():
            self.cfg.set(name, wanted[name])

    def load(self) -> Flask:
        # A parser in the indexing threads would hold each turn for 5 ms, and the streams would stutter.
        sys.setswitchinterval(0.001)
        key = os.environ.get("SANDBOX_API_KEY", "")
        return create_app(self._data, key, Llm.from_environment(), Settings.from_environment())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True, help="the folder of its state")
    parser.add_argument("--host", default="127.0.0.1")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    Server(options.host, options.port, options.data.resolve()).run()


if __name__ == "__main__":
    main()
