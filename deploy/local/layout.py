"""Where the parts of one stack are: its data folder, its ports, its configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from deploy.local.ports import HOST

CHECKOUT = Path(__file__).resolve().parents[2]
DATABASE = Path(__file__).resolve().parent / "database"
API_KEY = "key-of-the-stand-in"
NIGHTLY = "0 0 1 * * *"
ENDING = "2s"  # for jobs: a process that is stopped is waited for a little longer (deploy.local.ending)
RAGCORE = Path(sys.executable).with_name("ragcore")


@dataclass
class Layout:
    """The data folder and, by name (`redis`, `couchdb`, `openrag`, `api`, `admin`), the ports."""

    data: Path
    ports: dict[str, int] = field(default_factory=dict)

    @property
    def config_path(self) -> Path:
        return self.data / "ragcore.yaml"

    def log(self, name: str) -> Path:
        return self.data / "logs" / f"{name}.log"

    def url(self, name: str) -> str:
        """The URL of a server, as the configuration has it."""
        address = f"{HOST}:{self.ports[name]}"
        forms = {"redis": f"redis://{address}/0", "couchdb": f"http://{address}/"}
        return forms.get(name, f"http://{address}")

    def write_config(self, extra: Mapping[str, Any]) -> None:
        text = yaml.safe_dump(_merged(self._config(), extra), sort_keys=False)
        self.config_path.write_text(text, encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """The environment of every process.

        Without the `RAGCORE_` variables of the person who starts it, which would win over the file and lead
        to other servers; and with the loopback never asked for through a proxy.
        """
        own = {name: value for name, value in os.environ.items() if not name.startswith("RAGCORE_")}
        direct = ",".join(filter(None, [own.get("NO_PROXY") or own.get("no_proxy"), HOST, "localhost"]))
        fixed = {"RAGCORE_CONFIG": str(self.config_path), "SANDBOX_API_KEY": API_KEY, "PYTHONUNBUFFERED": "1"}
        return {**own, **fixed, "NO_PROXY": direct, "no_proxy": direct}

    def _config(self) -> dict[str, Any]:
        return {
            "host": HOST,
            "port": self.ports["api"],
            "admin": {"host": HOST, "port": self.ports["admin"]},
            "couchdb": {"url": self.url("couchdb")},
            "redis": {"url": self.url("redis")},
            "fs": {"url": (self.data / "files").as_uri()},
            "rag": {"default": {"url": self.url("openrag"), "api_key": API_KEY}},
            "contexts": {"default": {"reindex": NIGHTLY}},
            "jobs": {"rag-index": {"grace": ENDING}, "rag-query": {"grace": ENDING}},
        }


def _merged(base: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the keys of `extra` laid over it, maps inside maps too."""
    merged = dict(base)
    for key, value in extra.items():
        inner = merged.get(key)
        merged[key] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged
