import pytest

from ragcore.chat.providers import Provider
from ragcore.chat.secrets import without_secrets

PROVIDER = Provider("large", "https://me:pass-word@llm.test/v1?token=t0ken", 'sk-é"/1234')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("the model large at llm.test is away", "the model large at llm.test is away"),
        ('the key sk-é"/1234 is bad', "the key *** is bad"),
        (r"{'key': 'sk-\u00e9\"/1234'}", "{'key': '***'}"),
        ("?key=sk-%C3%A9%22%2F1234&a", "?key=***&a"),
        ("to https://me:pass-word@llm.test/v1?token=t0ken", "to ***"),
        ("to https://me:pass-word@llm.test/v1/chat", "to https://***@llm.test/v1/chat"),
        ("to https://llm.test/v1/chat?token=t0ken", "to https://llm.test/v1/chat?***"),
        ("the password pass-word", "the password ***"),
        ("cut: sk-é", "cut: ***"),
        ("cut: sk-", "cut: sk-"),
        ("cut: https://me:pass", "cut: ***"),
        ("to http://a:b@proxy.test:1/ and redis://:c@cache", "to http://***@proxy.test:1/ and redis://***@cache"),
        ("write to me@llm.test", "write to me@llm.test"),
    ],
)
def test_what_is_told(text: str, told: str) -> None:
    assert without_secrets(text, PROVIDER) == told


@pytest.mark.parametrize("provider", [None, Provider(), Provider("m"), Provider("m", "http://[", "")])
def test_without_secrets_there_is_nothing_to_hide(provider: Provider | None) -> None:
    assert without_secrets("all of http://llm.test", provider) == "all of http://llm.test"
    assert without_secrets("to http://a:b@llm.test", provider) == "to http://***@llm.test"
