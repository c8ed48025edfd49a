"""The process of `ragcore watch` (`python -m deploy.watch`): thousands of feeds wait side by side, each a greenlet."""

import gevent
from gevent import monkey

monkey.patch_all()

import logging  # noqa: E402
import signal  # noqa: E402

from deploy.open_files import raise_limit  # noqa: E402
from ragcore import config  # noqa: E402
from ragcore.garbage import collect_seldom  # noqa: E402
from ragcore.runtime import Runtime  # noqa: E402
from ragcore.triggers.events import EventTriggers  # noqa: E402
from ragcore.watch.watcher import Watcher  # noqa: E402
from ragcore.work import Work  # noqa: E402
from tasks.app import app  # noqa: E402
from tasks.base import CeleryQueue  # noqa: E402


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    raise_limit()  # a connection for each feed
    runtime = Runtime(config.load())
    watcher = Watcher(runtime, EventTriggers(Work(runtime, CeleryQueue(app))))
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, watcher.stop)  # a greenlet of its own: the loop itself cannot wait for Redis
    collect_seldom()
    print("ready", flush=True)
    watcher.run()


if __name__ == "__main__":
    main()
