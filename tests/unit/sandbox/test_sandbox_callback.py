import pytest

from deploy.sandbox.callback import resolve


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://alice.localhost:8080/a?b=1", ("http://127.0.0.1:8080/a?b=1", "alice.localhost:8080")),
        ("http://localhost/a", ("http://127.0.0.1/a", "localhost")),
        ("https://alice.example.org/a", ("https://alice.example.org/a", "alice.example.org")),
        ("http://notlocalhost/a", ("http://notlocalhost/a", "notlocalhost")),
    ],
)
def test_names_under_localhost_are_this_machine(url: str, expected: tuple[str, str]) -> None:
    assert resolve(url) == expected
