"""Tokens and the rights that their scope gives (`contracts/cozy.md`, Requests, permissions, errors)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import jwt

from ragcore.errors import RagcoreError
from ragcore.instances import Instance

VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
KEYS = {"cli": "cli", "access": "oauth", "share": "oauth", "app": "session", "konn": "session"}
VALID = {"cli": 30 * 60, "access": 7 * 86400, "share": 7 * 86400, "app": 86400, "konn": 86400}  # seconds
CLOCKS_DIFFER = 60  # seconds
MOST_KNOWN = 1000  # tokens
ALGORITHMS = ["HS512", "HS384", "HS256"]


class InvalidToken(RagcoreError):
    """No valid token: who asks is unknown."""


class Forbidden(RagcoreError):
    """A valid token without the right to do this."""


def covers(type_: str, doctype: str) -> bool:
    """Whether a type of a rule is a doctype, or a wildcard of it (`io.cozy.files.*`)."""
    return doctype == type_ or (type_.endswith(".*") and doctype.startswith(type_[:-1]))


@dataclass(frozen=True)
class Rule:
    """`type[:verbs[:values[:selector]]]`: empty verbs are all of them, empty values the whole type."""

    type: str
    verbs: frozenset[str] = frozenset(VERBS)
    values: frozenset[str] = frozenset()
    selector: str = ""

    @classmethod
    def parse(cls, text: str) -> "Rule":
        type_, verbs, values, selector = (text.split(":", 3) + ["", "", ""])[:4]
        named = frozenset(verb for verb in verbs.split(",") if verb)
        everything = not named or "ALL" in named
        return cls(
            type_,
            frozenset(VERBS) if everything else named,
            frozenset(value for value in values.split(",") if value),
            selector,
        )

    def allows(self, verb: str, doctype: str, value: str = "", selector: str = "") -> bool:
        """Whether the rule gives `verb` on the document of that value, or with no value on the whole type."""
        if verb not in self.verbs or not covers(self.type, doctype):
            return False
        return not self.values or (value in self.values and selector == self.selector)


@dataclass(frozen=True)
class Permissions:
    """What a token may do: the rules of its scope."""

    rules: tuple[Rule, ...]

    @classmethod
    def of_scope(cls, scope: str) -> "Permissions":
        return cls(tuple(Rule.parse(text) for text in scope.split()))

    def allow(self, verb: str, doctype: str, value: str = "", selector: str = "") -> bool:
        return any(rule.allows(verb, doctype, value, selector) for rule in self.rules)

    def require(self, verb: str, doctype: str, *values: str) -> None:
        """The right on the document of one of the values, or with none on the whole type. Raises Forbidden."""
        if not any(self.allow(verb, doctype, value) for value in values or ("",)):
            raise Forbidden(f"the token has no permission to {verb} {doctype}")


def create_token(
    instance: Instance, audience: str, subject: str, scope: str, clock: Callable[[], float] = time.time
) -> str:
    claims = {"aud": audience, "iss": instance.domain, "iat": int(clock()), "sub": subject, "scope": scope}
    return jwt.encode(claims, instance.secrets[KEYS[audience]], algorithm="HS512")


def read_token(instance: Instance, token: str, clock: Callable[[], float] = time.time) -> Permissions:
    """The permissions of a token of this instance, valid now. Raises InvalidToken."""
    try:
        audience, issued_at, rights = _read(instance.domain, tuple(instance.secrets.items()), token)
        _check_age(issued_at, VALID[audience], clock())
    except (jwt.PyJWTError, KeyError, TypeError, ValueError, OverflowError):
        raise InvalidToken("the token is missing, expired or not of this instance") from None
    return rights


@lru_cache(maxsize=MOST_KNOWN)
def _read(domain: str, secrets: tuple[tuple[str, bytes], ...], token: str) -> tuple[str, float, Permissions]:
    """The audience, the time and the rights of a token that these secrets signed: the same as long as they are."""
    audience = jwt.decode(token, options={"verify_signature": False})["aud"]
    claims = jwt.decode(
        token,
        dict(secrets)[KEYS[audience]],
        algorithms=ALGORITHMS,
        audience=audience,
        issuer=domain,
        options={
            "require": ["iat", "iss"],
            "verify_iat": False,
            "verify_exp": False,
            "verify_nbf": False,
        },
    )
    scope = claims.get("scope")
    return audience, float(claims["iat"]), Permissions.of_scope(scope if isinstance(scope, str) else "")


def _check_age(issued_at: float, valid: int, now: float) -> None:
    age = now - issued_at
    if not -CLOCKS_DIFFER <= age <= valid:
        raise ValueError("the token is too old, or not of this time")
