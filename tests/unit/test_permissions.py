import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.instances import Instance
from ragcore.permissions import VERBS, Forbidden, InvalidToken, Permissions, Rule, create_token, read_token

DOMAIN = "alice.localhost"
NOW = 1_800_000_000.0
SCOPE = "io.cozy.files:GET"


def instance(domain: str = DOMAIN, **secrets: bytes) -> Instance:
    keys = {name: name.encode() * 30 for name in ("session", "oauth", "cli")}
    return Instance(domain, domain, secrets=keys | secrets)


ALICE = instance()


def clock(seconds: float = 0) -> Any:
    return lambda: NOW + seconds


def token(key: bytes | str | None = b"cli" * 30, algorithm: str = "HS512", **claims: Any) -> str:
    """A token that is right but for what is given; a claim that is None is left out."""
    all_claims = {"aud": "cli", "iss": DOMAIN, "iat": int(NOW), "sub": "x", "scope": SCOPE} | claims
    return jwt.encode({k: v for k, v in all_claims.items() if v is not None}, key, algorithm)


def segment(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw_token(header: bytes, claims: bytes, key: bytes | None) -> str:
    """A token of any bytes, signed by hand where there is a key."""
    signed = f"{segment(header)}.{segment(claims)}"
    signature = hmac.digest(key, signed.encode(), hashlib.sha512) if key is not None else b""
    return f"{signed}.{segment(signature)}"


def test_the_token_that_the_others_are_spoilt_from_is_good() -> None:
    assert read_token(ALICE, token(), clock()).allow("GET", "io.cozy.files")


@pytest.mark.parametrize(
    ("audience", "key"),
    [("cli", "cli"), ("access", "oauth"), ("share", "oauth"), ("app", "session"), ("konn", "session")],
)
def test_each_audience_has_its_key(audience: str, key: str) -> None:
    made = create_token(ALICE, audience, "me", SCOPE, clock())
    claims = jwt.decode(made, ALICE.secrets[key], ["HS512"], audience=audience, options={"verify_iat": False})
    assert claims == {"aud": audience, "iss": DOMAIN, "iat": int(NOW), "sub": "me", "scope": SCOPE}
    assert read_token(ALICE, made, clock()).allow("GET", "io.cozy.files")
    for other in {"session", "oauth", "cli"} - {key}:
        with pytest.raises(InvalidToken):
            read_token(ALICE, token(ALICE.secrets[other], aud=audience), clock())


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_any_hmac_is_taken(algorithm: str) -> None:
    assert read_token(ALICE, token(algorithm=algorithm), clock()).rules


@pytest.mark.parametrize(
    ("audience", "valid"), [("cli", 1800), ("access", 7 * 86400), ("app", 86400), ("share", 7 * 86400), ("konn", 86400)]
)
def test_a_token_expires(audience: str, valid: int) -> None:
    made = create_token(ALICE, audience, "x", SCOPE, clock())
    for seconds in (0, valid - 1, valid):
        assert read_token(ALICE, made, clock(seconds)).rules
    for seconds in (valid + 1, valid * 100):
        with pytest.raises(InvalidToken):
            read_token(ALICE, made, clock(seconds))


def test_clocks_may_differ_by_a_minute() -> None:
    assert read_token(ALICE, token(iat=int(NOW) + 60), clock()).rules
    with pytest.raises(InvalidToken):
        read_token(ALICE, token(iat=int(NOW) + 61), clock())


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("", id="empty"),
        pytest.param("garbage", id="garbage"),
        pytest.param("a.b.c", id="three parts"),
        pytest.param("é.\ud800.\0", id="no ASCII"),
        pytest.param(token(iss="bob.localhost"), id="another instance"),
        pytest.param(token(iss=f"{DOMAIN}."), id="a look-alike"),
        pytest.param(token(iss=None), id="no issuer"),
        pytest.param(token(key=b"wrong" * 30), id="another key"),
        pytest.param(token(key=None, algorithm="none"), id="alg none"),
        pytest.param(token(aud=None), id="no audience"),
        pytest.param(token(aud="admin"), id="an unknown audience"),
        pytest.param(token(aud=["cli"]), id="a list of audiences"),
        pytest.param(token(aud={"cli": 1}), id="an object as audience"),
        pytest.param(token(aud=""), id="an empty audience"),
        pytest.param(token(iat=None), id="no date"),
        pytest.param(token(iat="yesterday"), id="a date that is no number"),
        pytest.param(token(iat=[1]), id="a date that is a list"),
        pytest.param(token(iat=True), id="a date that is a boolean"),
        pytest.param(token(iat=0), id="1970"),
        pytest.param(token()[:-2], id="cut"),
        pytest.param(token() + ".x", id="four parts"),
        pytest.param(raw_token(b'{"alg":"none"}', b'{"aud":"cli"}', None), id="alg none by hand"),
        pytest.param(raw_token(b"[]", b"{}", b"cli" * 30), id="a header that is a list"),
        pytest.param(raw_token(b'{"alg":"HS512"}', b"[]", b"cli" * 30), id="claims that are a list"),
        pytest.param(raw_token(b"[" * 50_000, b"{}", None), id="a deep header"),
        pytest.param(raw_token(b'{"alg":"HS512"}', b"[" * 50_000, None), id="deep claims"),
        pytest.param(raw_token(b'{"alg":"HS512"}', b'{"aud":"cli","iss":"alice.localhost","iat":NaN}', b"cli" * 30),
                     id="a date that is NaN"),
        pytest.param(
            token(iat=10**400),
            id="a date too large",
        ),
    ],
)  # fmt: skip
def test_what_is_no_token_of_this_instance(given: str) -> None:
    with pytest.raises(InvalidToken) as caught:
        read_token(ALICE, given, clock())
    assert str(caught.value) == "the token is missing, expired or not of this instance"


def test_a_changed_scope_breaks_the_signature() -> None:
    header, _, signature = token().split(".")
    claims = {"aud": "cli", "iss": DOMAIN, "iat": int(NOW), "sub": "x", "scope": "io.cozy.files"}
    with pytest.raises(InvalidToken):
        read_token(ALICE, f"{header}.{segment(json.dumps(claims).encode())}.{signature}", clock())


def test_an_instance_without_a_secret_knows_no_token() -> None:
    claims = json.dumps({"aud": "cli", "iss": DOMAIN, "iat": int(NOW), "scope": SCOPE}).encode()
    forged = raw_token(b'{"alg":"HS512","typ":"JWT"}', claims, b"")
    unsigned = raw_token(b'{"alg":"none","typ":"JWT"}', claims, None)
    for token in (forged, unsigned):
        with pytest.raises(InvalidToken):
            read_token(instance(cli=b""), token, clock())
    with pytest.raises(InvalidToken):
        read_token(Instance(DOMAIN, DOMAIN), forged, clock())


def test_the_token_that_is_forged_by_hand_is_good_with_the_right_key() -> None:
    claims = json.dumps({"aud": "cli", "iss": DOMAIN, "iat": int(NOW), "scope": SCOPE}).encode()
    assert read_token(ALICE, raw_token(b'{"alg":"HS512","typ":"JWT"}', claims, b"cli" * 30), clock()).rules


def test_expiry_is_counted_from_iat_alone() -> None:
    assert read_token(ALICE, token(exp=1, nbf=int(NOW) * 2), clock()).rules


@pytest.mark.parametrize("scope", [None, "", "  ", 3, ["io.cozy.files"]])
def test_a_token_without_a_scope_gives_nothing(scope: Any) -> None:
    assert read_token(ALICE, token(scope=scope), clock()).rules == ()


CASES = [  # scope, verb, doctype, value, selector, allowed
    ("io.cozy.files", "GET", "io.cozy.files", "", "", True),
    ("io.cozy.files", "DELETE", "io.cozy.files", "f1", "", True),
    ("io.cozy.files", "GET", "io.cozy.file", "", "", False),
    ("io.cozy.files", "GET", "io.cozy.files.versions", "", "", False),
    ("io.cozy.files", "GET", "", "", "", False),
    ("", "GET", "io.cozy.files", "", "", False),
    (":GET", "GET", "io.cozy.files", "", "", False),
    ("io.cozy.files:GET", "GET", "io.cozy.files", "", "", True),
    ("io.cozy.files:GET", "POST", "io.cozy.files", "", "", False),
    ("io.cozy.files:GET,POST", "POST", "io.cozy.files", "", "", True),
    ("io.cozy.files:GET,POST", "PATCH", "io.cozy.files", "", "", False),
    ("io.cozy.files:ALL", "PATCH", "io.cozy.files", "", "", True),
    ("io.cozy.files:GET,ALL", "PUT", "io.cozy.files", "", "", True),
    ("io.cozy.files:", "PUT", "io.cozy.files", "", "", True),
    ("io.cozy.files:get", "GET", "io.cozy.files", "", "", False),
    ("io.cozy.files:GETS", "GET", "io.cozy.files", "", "", False),
    ("io.cozy.files:ALL", "HACK", "io.cozy.files", "", "", False),
    ("io.cozy.files:GET:f1", "GET", "io.cozy.files", "f1", "", True),
    ("io.cozy.files:GET:f1", "GET", "io.cozy.files", "f2", "", False),
    ("io.cozy.files:GET:f1", "GET", "io.cozy.files", "", "", False),
    ("io.cozy.files:GET:f1,f2", "GET", "io.cozy.files", "f2", "", True),
    ("io.cozy.files:GET:f1,f2", "GET", "io.cozy.files", "f1,f2", "", False),
    ("io.cozy.files:GET:f1,", "GET", "io.cozy.files", "", "", False),
    ("io.cozy.files::f1", "PUT", "io.cozy.files", "f1", "", True),
    ("io.cozy.jobs:POST:rag-index:worker", "POST", "io.cozy.jobs", "rag-index", "worker", True),
    ("io.cozy.jobs:POST:rag-index:worker", "POST", "io.cozy.jobs", "rag-index", "", False),
    ("io.cozy.jobs:POST:rag-index:worker", "POST", "io.cozy.jobs", "rag-query", "worker", False),
    ("io.cozy.jobs:POST:rag-index:worker", "POST", "io.cozy.jobs", "", "", False),
    ("io.cozy.jobs:POST:rag-index", "POST", "io.cozy.jobs", "rag-index", "worker", False),
    ("io.cozy.jobs:POST:rag-index:a:b", "POST", "io.cozy.jobs", "rag-index", "a:b", True),
    ("io.cozy.files.*", "GET", "io.cozy.files.versions", "", "", True),
    ("io.cozy.files.*:GET", "POST", "io.cozy.files.versions", "", "", False),
    ("io.cozy.files.*", "GET", "io.cozy.filesystem", "", "", False),
    ("io.cozy.*", "GET", "io.cozy.ai.chat.conversations", "", "", True),
    ("*", "GET", "io.cozy.files", "", "", False),
    ("io.*.files", "GET", "io.cozy.files", "", "", False),
    ("*.*", "GET", "io.cozy.files", "", "", False),
    ("io.cozy.file*", "GET", "io.cozy.files", "", "", False),
    ("io.cozy.files:GET io.cozy.jobs", "POST", "io.cozy.jobs", "", "", True),
    ("io.cozy.files:GET io.cozy.jobs", "POST", "io.cozy.files", "", "", False),
    ("io.cozy.files:GET:a io.cozy.files:POST", "GET", "io.cozy.files", "", "", False),
]


@pytest.mark.parametrize(("scope", "verb", "doctype", "value", "selector", "allowed"), CASES)
def test_what_a_scope_allows(scope: str, verb: str, doctype: str, value: str, selector: str, allowed: bool) -> None:
    permissions = Permissions.of_scope(scope)
    assert permissions.allow(verb, doctype, value, selector) is allowed
    if not selector:
        if allowed:
            permissions.require(verb, doctype, value)
        else:
            with pytest.raises(Forbidden):
                permissions.require(verb, doctype, value)


@pytest.mark.parametrize("scope", ["io.co?y.*", "io.[abc]ozy.*"])
def test_only_the_last_star_of_a_rule_is_a_wildcard(scope: str) -> None:
    assert not Permissions.of_scope(scope).allow("GET", "io.cozy.files")


word = st.text(alphabet="abz.-_0", min_size=1, max_size=8)


@given(
    word,
    st.sets(st.sampled_from(VERBS)),
    st.sets(word),
    st.sampled_from(["", "worker"]),
    word,
    st.sampled_from(VERBS),
    word,
)
def test_a_rule_is_read_as_it_is_written(
    type_: str, verbs: set[str], values: set[str], selector: str, doctype: str, verb: str, value: str
) -> None:
    rule = Rule.parse(f"{type_}:{','.join(verbs)}:{','.join(values)}:{selector}")
    expected = doctype == type_ and (not verbs or verb in verbs) and (not values or value in values)
    assert rule.allows(verb, doctype, value, selector) == expected
    assert rule.allows(verb, type_, value, selector) == (
        (not verbs or verb in verbs) and (not values or value in values)
    )


@given(st.text(max_size=60), word)
def test_no_scope_raises_nor_gives_what_it_does_not_name(scope: str, doctype: str) -> None:
    permissions = Permissions.of_scope(scope)
    allowed = permissions.allow("GET", f"io.cozy.{doctype}")
    assert not allowed or "io.cozy." in scope or ".*" in scope


def test_wrong_permissions_are_told_with_what_was_missing() -> None:
    with pytest.raises(Forbidden, match=r"POST io\.cozy\.jobs"):
        Permissions(()).require("POST", "io.cozy.jobs")
