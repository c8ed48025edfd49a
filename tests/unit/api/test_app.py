from typing import Any

import pytest
from flask import Flask

from api.app import create_app
from api.context import API
from ragcore.config import Config
from ragcore.jobs import AnswerJob, FeedJob, WalkJob
from ragcore.runtime import Runtime


class NoQueue:
    def answer(self, job: AnswerJob) -> None: ...

    def feed(self, job: FeedJob) -> None: ...

    def walk(self, job: WalkJob) -> None: ...


def app(**config: Any) -> Flask:
    return create_app(Runtime(Config.model_validate(config)), NoQueue())


def test_an_app_is_made_without_any_server() -> None:
    made = app()
    assert isinstance(made.extensions["ragcore"], API)


@pytest.mark.parametrize(("body", "guard"), [("64MiB", 64 << 20), (10, 10), (0, None)])
def test_the_guard_of_a_body(body: Any, guard: int | None) -> None:
    assert app(limits={"body": body}).config["MAX_CONTENT_LENGTH"] == guard


def test_the_routes_of_the_contract() -> None:
    routes = {(rule.rule, method) for rule in app().url_map.iter_rules() for method in rule.methods or ()}
    assert {
        ("/ai/chat/conversations/<conversation_id>", "POST"),
        ("/ai/index/status", "POST"),
        ("/realtime/", "GET"),
        ("/status", "GET"),
    } <= routes


def test_a_server_that_is_away_is_a_503() -> None:
    client = app(couchdb={"url": "http://admin:s3cret@127.0.0.1:1/"}).test_client()
    response = client.post("/ai/chat/conversations/c", json={"q": "x"}, headers={"Host": "alice.localhost"})
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    assert b"s3cret" not in response.data


def test_a_body_over_the_guard_is_a_413_or_refused_before() -> None:
    client = app(limits={"body": 10}, couchdb={"url": "http://127.0.0.1:1/"}).test_client()
    assert client.post("/ai/index/status", data=b"x" * 11).status_code in (413, 503)
