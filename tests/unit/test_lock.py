"""`requirements.lock`: what production installs is what `pyproject.toml` asks for, all of it with hashes."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).parents[2]
ENTRIES = re.split(r"\n(?=\S)", (CHECKOUT / "requirements.lock").read_text(encoding="utf-8"))
LOCKED = [entry.replace("\\\n", "").split("--hash=") for entry in ENTRIES if not entry.startswith("#")]
WANTED = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]


@pytest.mark.parametrize("wanted", WANTED)
def test_each_dependency_is_locked_at_a_version_that_fits(wanted: str) -> None:
    requirement = Requirement(wanted)
    locked = [Requirement(entry[0]) for entry in LOCKED]
    fitting = [found for found in locked if canonicalize_name(found.name) == canonicalize_name(requirement.name)]
    assert fitting, "run `make lock`"
    versions = [next(iter(found.specifier)) for found in fitting]
    assert all(version.operator == "==" for version in versions)
    assert all(requirement.specifier.contains(version.version) for version in versions)


@pytest.mark.parametrize("wanted", [wanted for wanted in WANTED if Requirement(wanted).extras])
def test_extras_are_locked(wanted: str) -> None:
    requirement = Requirement(wanted)
    needed = [Requirement(each) for each in requires(requirement.name) or []]
    extra = [
        each for each in needed if each.marker and any(each.marker.evaluate({"extra": e}) for e in requirement.extras)
    ]
    locked = {canonicalize_name(Requirement(entry[0]).name) for entry in LOCKED}
    assert extra
    assert {canonicalize_name(each.name) for each in extra} <= locked


def test_each_has_hashes() -> None:
    assert [entry[0] for entry in LOCKED if not entry[1:]] == []
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", digest) for entry in LOCKED for digest in entry[1:])
