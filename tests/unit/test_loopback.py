import pytest

from ragcore import loopback


@pytest.mark.parametrize(
    ("url", "resolved", "host"),
    [
        ("http://alice.localhost:8080/x?y=1", "http://127.0.0.1:8080/x?y=1", "alice.localhost:8080"),
        ("http://alice.localhost/", "http://127.0.0.1/", "alice.localhost"),
        ("https://ALICE.LOCALHOST/", "https://127.0.0.1/", "ALICE.LOCALHOST"),
        ("ws://a.b.localhost:1/realtime/", "ws://127.0.0.1:1/realtime/", "a.b.localhost:1"),
        ("http://localhost:5984/", "http://localhost:5984/", "localhost:5984"),
        ("http://alice.localhost.example.org/", "http://alice.localhost.example.org/", "alice.localhost.example.org"),
        ("http://alicelocalhost/", "http://alicelocalhost/", "alicelocalhost"),
        ("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x", "127.0.0.1:8000"),
    ],
)
def test_names_under_localhost_are_the_loopback(url: str, resolved: str, host: str) -> None:
    assert loopback.resolve(url) == (resolved, host)


def test_a_session_knows_no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    settings = loopback.session().merge_environment_settings("http://alice.localhost/", {}, None, None, None)
    assert settings["proxies"] == {}
