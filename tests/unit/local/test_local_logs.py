import pytest

from deploy.local import logs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it said nothing"),
        ("\n \n", "it said nothing"),
        ("starting\nready\n", "ready"),
        (
            "starting\nError: redis.url: no such key\n    at line 3\n\nNode.js v20\n",
            "Error: redis.url: no such key",
        ),
        ("\x1b[31mFatal\x1b[0m: no memory\n", "Fatal: no memory"),
    ],
)
def test_last_words_are_the_line_that_speaks_of_trouble(text: str, words: str) -> None:
    assert logs.last_words(text) == words


def test_last_words_are_one_line_of_bounded_length() -> None:
    assert len(logs.last_words("error " + "x" * 5000)) == logs.LONGEST_LINE


@pytest.mark.parametrize(
    "text",
    [
        "Warning: Could not create server TCP listening socket 127.0.0.1:6379: bind: Address already in use",
        "Error: listen EADDRINUSE: address already in use 127.0.0.1:5984",
        "[ERROR] Connection in use: ('127.0.0.1', 8080)",
    ],
)
def test_a_taken_port_is_told_from_other_trouble(text: str) -> None:
    assert logs.says_port_taken(text)
    assert not logs.says_port_taken("Error: out of memory")
