"""The embedded stack as one thing: all of it comes up, or nothing stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from os import getpid
from pathlib import Path
from types import TracebackType
from typing import Any

from deploy.local import interrupts, state
from deploy.local.errors import AlreadyRunning, StackError, StartFailed
from deploy.local.layout import CHECKOUT, Layout
from deploy.local.ports import choose_ports
from deploy.local.process import Process, end_all, wait_ready
from deploy.local.services import NAMES, PROJECT, SERVERS, Service

SERVER_PORTS = ("redis", "couchdb", "openrag")
PROJECT_PORTS = ("api", "admin")
WATCH_EVERY = 0.3


class Stack:
    """`with Stack(folder) as stack:` has all processes serving inside, and none of them left after it.

    `services` names those to start (`services.NAMES`), `port` the public port to take if it is free,
    `config` further keys of `ragcore.yaml`, laid over the stack's own. With `background=True` the processes
    outlive the program that started them, and `deploy.local.control.down` ends them.
    """

    def __init__(
        self,
        data_dir: Path | str,
        *,
        services: Sequence[str] = NAMES,
        port: int | None = None,
        config: Mapping[str, Any] | None = None,
        background: bool = False,
    ) -> None:
        unknown = set(services) - set(NAMES)
        if unknown:
            raise ValueError(f"no such service: {', '.join(sorted(unknown))}")
        self.data = Path(data_dir).resolve()
        self.processes: dict[str, Process] = {}
        self._layout = Layout(self.data)
        self._services = set(services)
        self._preferred = {"api": port} if port else {}
        self._config = config or {}
        self._background = background
        self._put_signals_back: Callable[[], None] = lambda: None

    @property
    def config_path(self) -> Path:
        return self._layout.config_path

    def url(self, name: str) -> str:
        """Of `api`, `admin`, `openrag`, `redis`, `couchdb`."""
        return self._layout.url(name)

    def environment(self) -> dict[str, str]:
        """The environment in which `ragcore` commands meet this stack."""
        return self._layout.environment()

    def __enter__(self) -> Stack:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Bring everything up. Raises `StartFailed` or `AlreadyRunning`, and leaves nothing behind then."""
        self._make_folder()
        with state.exclusively(self.data):
            self._refuse_second_stack()
            self._put_signals_back = interrupts.end_like_exit()
            try:
                self._start_in_order()
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """End everything in the reverse order: the project's processes, then the servers that they use."""
        with interrupts.deferred():
            for group in (PROJECT, SERVERS):
                self._end(group)
            state.forget(self.data)
        self._put_signals_back()

    def check(self) -> None:
        """Raise `StackError` when a process has died."""
        for process in self.processes.values():
            if not process.alive:
                raise StackError(f"{process.name} {process.why_it_ended()}")

    def wait(self) -> None:
        """Stay until a process dies (`StackError`) or a signal ends the program."""
        while True:
            self.check()
            time.sleep(WATCH_EVERY)

    def _make_folder(self) -> None:
        try:
            self.data.mkdir(mode=0o700, parents=True, exist_ok=True)  # keys and files are nobody else's
            for name in ("logs", "files"):
                (self.data / name).mkdir(exist_ok=True)
        except OSError as error:
            raise StackError(f"no data folder can be made: {error}") from None

    def _refuse_second_stack(self) -> None:
        found = state.load(self.data)
        if found and found.living():
            raise AlreadyRunning(f"a stack runs already in {self.data}")

    def _start_in_order(self) -> None:
        for name in NAMES:
            self._layout.log(name).unlink(missing_ok=True)
        self._choose_ports((*SERVER_PORTS, *PROJECT_PORTS), self._preferred)
        self._start_group(SERVERS, SERVER_PORTS)
        self._start_group(PROJECT, PROJECT_PORTS)

    def _start_group(self, group: Sequence[Service], ports: Sequence[str]) -> None:
        """All of a group at the same time. A port that another program was quicker to take: once more."""
        try:
            self._bring_up(group)
        except StartFailed as error:
            if not error.port_taken:
                raise
            self._end(group)
            self._choose_ports(ports, {})
            self._bring_up(group)

    def _bring_up(self, group: Sequence[Service]) -> None:
        started = [self._process(service) for service in group if service.name in self._services]
        for process in started:
            self.processes[process.name] = process
            process.spawn()
        self._save_state()
        wait_ready(started)

    def _choose_ports(self, names: Sequence[str], preferred: dict[str, int]) -> None:
        self._layout.ports.update(choose_ports(names, preferred))
        self._layout.write_config(self._config)

    def _process(self, service: Service) -> Process:
        return Process(
            name=service.name,
            argv=service.argv(self._layout),
            env=self._layout.environment(),
            cwd=CHECKOUT,
            log=self._layout.log(service.name),
            is_ready=lambda process: service.is_ready(self._layout, process),
            guarded=not self._background,
        )

    def _end(self, group: Sequence[Service]) -> None:
        end_all([self.processes[service.name] for service in group if service.name in self.processes])

    def _save_state(self) -> None:
        births = {name: state.Birth.of(process.pid) for name, process in self.processes.items()}
        state.State(
            urls={name: self.url(name) for name in self._layout.ports},
            starter=None if self._background else state.Birth.of(getpid()),
            processes={name: birth for name, birth in births.items() if birth},
        ).save(self.data)
