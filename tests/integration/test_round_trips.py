"""What lies between the POST of a question and its first word (counted by tests/bench/round_trips.py)."""

from collections.abc import Iterator

import pytest

from tests.bench.round_trips import Count, Counter, counter, details

DATABASE = 7  # one of them writes what is owed, while the conversation is read and saved
REDIS = 3  # commands, beside Celery's own


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counter]:
    with counter(tmp_path_factory.mktemp("round-trips")) as made:
        yield made


def check_database(count: Count) -> None:
    assert {trip.process for trip in count.database} == {"api", "worker-query"}
    assert len(count.database) <= DATABASE, details(count)


def test_the_first_question_of_a_new_instance(counting: Counter) -> None:
    check_database(counting.first_question())


def test_a_question_of_an_instance_that_no_process_has_seen(counting: Counter) -> None:
    check_database(counting.unseen_instance())


def test_the_next_question_with_an_open_websocket(counting: Counter) -> None:
    count = counting.next_question()
    check_database(count)
    assert {trip.process for trip in count.redis} == {"api", "worker-query"}
    assert len(count.redis) <= REDIS, details(count)
