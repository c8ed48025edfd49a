from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.config import Config
from ragcore.errors import Invalid
from ragcore.instances import Instance, _check_domain

CONFIG = Config.model_validate(
    {
        "rag": {name: {"url": f"http://{name}"} for name in ("default", "beta", "big")},
        "contexts": {
            "default": {"features": {"a": "default", "rag.server": None}},
            "big": {"features": {"a": "big"}},
            "pointed": {"features": {"rag.server": "beta"}},
        },
    }
)


def instance(context: str = "", **flags: Any) -> Instance:
    return Instance("d.localhost", "d", context, {name.replace("_", "."): value for name, value in flags.items()})


def test_an_instance_from_its_document() -> None:
    doc = {
        "domain": "d",
        "prefix": "p",
        "context": "c",
        "locale": "fr",
        "feature_flags": {"a": 1},
        "cli_secret": "AAE=",
    }
    made = Instance.from_document(doc)
    assert (made.domain, made.prefix, made.context, made.locale, made.flags) == ("d", "p", "c", "fr", {"a": 1})
    assert made.secrets["cli"] == b"\0\1"


def test_the_prefix_of_an_instance_is_its_domain_where_it_has_none() -> None:
    assert Instance.from_document({"domain": "d", "prefix": ""}).prefix == "d"


def test_the_secrets_of_an_instance_are_not_shown() -> None:
    assert "hidden" not in repr(Instance("d", "d", secrets={"cli": b"hidden"}))


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (instance(), "default"),
        (instance("big"), "big"),
        (instance("big", a="own"), "own"),
        (instance("big", a=False), False),
        (instance("big", a=None), "big"),
        (instance("nowhere"), None),
    ],
)
def test_a_flag_is_the_instances_own_or_its_contexts(made: Instance, value: Any) -> None:
    assert made.flag(CONFIG, "a") == value


@pytest.mark.parametrize(
    ("made", "server"),
    [
        (instance(), "default"),
        (instance("big"), "big"),
        (instance("big", rag_server="beta"), "beta"),
        (instance("big", rag_server="nowhere"), "big"),
        (instance("unknown", rag_server="nowhere"), "default"),
        (instance("big", rag_server=["beta"]), "big"),
        (instance("big", rag_server=None), "big"),
        (instance("pointed"), "beta"),
    ],
)
def test_the_openrag_server_of_an_instance(made: Instance, server: str) -> None:
    assert made.rag_server(CONFIG).url == f"http://{server}"


def test_no_openrag_server_at_all() -> None:
    with pytest.raises(Invalid, match=r"rag\.default"):
        instance().rag_server(Config(rag={}))


@pytest.mark.parametrize(
    "domain",
    [
        "alice.localhost",
        "alice.localhost:8080",
        "a-b.example.org",
        "localhost",
        "1.example.org",
        "xn--caf-dma.example.org",
        pytest.param(
            "10-0-0-1.example.org",
        ),
    ],
)
def test_a_domain(domain: str) -> None:
    _check_domain(domain)


@pytest.mark.parametrize(
    "domain",
    ["", ".", "a..b", "a.", ".a", "Alice.localhost", "a b", "a/b", "a_b.org", "é.org", "a.localhost:port", "-", "a#b",
     "a" * 254, "a.localhost:80:80", "../x", "a\n"],
)  # fmt: skip
def test_what_is_no_domain(domain: str) -> None:
    with pytest.raises(Invalid):
        _check_domain(domain)


@given(st.text(max_size=12))
def test_a_domain_never_leaves_its_folder_nor_its_database(domain: str) -> None:
    try:
        _check_domain(domain)
    except Invalid:
        return
    assert not set(domain) & set("/\\?#%{} \n\0")
    assert domain not in (".", "..")
