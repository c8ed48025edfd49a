import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.store.documents import database_name

domains = st.from_regex(r"[a-z0-9-]{1,8}(\.[a-z0-9-]{1,8}){0,3}(:[0-9]{1,5})?", fullmatch=True)
doctypes = st.from_regex(r"[a-z]{1,6}(\.[a-z]{1,6}){0,3}", fullmatch=True)


@pytest.mark.parametrize(
    ("prefix", "doctype", "name"),
    [
        ("alice.localhost", "io.cozy.files", "alice-localhost/io-cozy-files"),
        ("alice.localhost:8080", "io.cozy.ai.chat.rag", "alice-localhost-8080/io-cozy-ai-chat-rag"),
        ("Cozy0a1B", "io.Cozy.Files", "cozy0a1b/io-cozy-files"),
        ("global", "instances", "global/instances"),
    ],
)
def test_the_name_of_a_database(prefix: str, doctype: str, name: str) -> None:
    assert database_name(prefix, doctype) == name


@given(domains, doctypes)
def test_a_name_is_one_that_couchdb_takes(prefix: str, doctype: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", database_name(prefix, doctype))


@given(domains, doctypes, doctypes)
def test_doctypes_have_their_own_databases(prefix: str, one: str, other: str) -> None:
    assert (database_name(prefix, one) == database_name(prefix, other)) == (one == other)
