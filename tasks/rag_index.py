"""The tasks of the index workers."""

from typing import Any

from ragcore.indexing.feed import run_feed
from ragcore.indexing.operate import run_operation
from ragcore.indexing.walk import run_walk
from ragcore.jobs import FeedJob, OperateJob, WalkJob, from_message
from tasks.app import INDEX, app
from tasks.base import IndexTask


@app.task(base=IndexTask, bind=True, name=f"{INDEX}.feed")
def feed(self: IndexTask, **message: Any) -> None:
    run_feed(self.work, from_message(FeedJob, message))


@app.task(base=IndexTask, bind=True, name=f"{INDEX}.walk")
def walk(self: IndexTask, **message: Any) -> None:
    run_walk(self.work, from_message(WalkJob, message))


@app.task(base=IndexTask, bind=True, name=f"{INDEX}.operate")
def operate(self: IndexTask, **message: Any) -> None:
    run_operation(self.work, from_message(OperateJob, message))
