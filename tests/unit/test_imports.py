"""The import rule of the folders: `api` and `tasks` import `ragcore`, and nothing the other way round. What is imported
from elsewhere is declared."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("ragcore", "api", "tasks", "deploy")
WEB = ("flask", "flask_sock", "werkzeug", "simple_websocket", "gunicorn")
QUEUE = ("celery", "kombu")

# who never imports what, by prefixes of module names
NEVER = {
    "ragcore": (*WEB, *QUEUE, "api", "tasks", "deploy", "tests"),
    "api": (*QUEUE, "tasks", "deploy", "tests"),
    "tasks": (*WEB, "api", "deploy", "tests"),
    "deploy": ("tests",),
    "ragcore.chat": ("ragcore.indexing", "ragcore.grounded", "ragcore.agent", "ragcore.v1"),
    "ragcore.indexing": ("ragcore.chat", "ragcore.grounded", "ragcore.agent", "ragcore.v1"),
    "ragcore.grounded": ("ragcore.indexing", "ragcore.agent", "ragcore.v1"),
    "ragcore.agent": ("ragcore.indexing", "ragcore.v1"),
    "ragcore.v1": ("ragcore.indexing", "ragcore.agent"),
}


def is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def imported_by(source: str, module: str, is_package: bool = False) -> Iterator[str]:
    """The full names that a module imports, in functions and under conditions too, relative ones included."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) in ("import_module", "__import__"):
            yield from (arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant))


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    return [
        f"{module} imports {name}"
        for name in imported_by(source, module, is_package)
        for who, never in NEVER.items()
        if is_below(module, who) and any(is_below(name, package) for package in never)
    ]


def modules(packages: Iterable[str] = PACKAGES) -> Iterator[tuple[str, Path]]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "node_modules" not in path.parts:
                names = path.relative_to(ROOT).with_suffix("").parts
                yield ".".join(names[:-1] if names[-1] == "__init__" else names), path


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_one_way(package: str) -> None:
    checked = [(name, path) for name, path in modules() if is_below(name, package)]
    assert checked, "there is nothing to check"
    found = [v for name, path in checked for v in violations(path.read_text(), name, path.name == "__init__.py")]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ragcore.config", "import flask"),
        ("ragcore.config", "import os, celery.app"),
        ("ragcore.config", "from flask import Flask"),
        ("ragcore.config", "import kombu.exceptions as errors"),
        ("ragcore.jobs", "from tasks.app import app"),
        ("ragcore.jobs", "def f():\n    from api import app"),
        ("ragcore.jobs", "if 0:\n    import deploy.cli"),
        ("ragcore.jobs", "import importlib\nimportlib.import_module('celery')"),
        ("ragcore.jobs", "__import__('flask')"),
        ("ragcore.chat.answer", "from ragcore.indexing.status import record"),
        ("ragcore.chat.answer", "from ragcore import indexing"),
        ("ragcore.chat.answer", "from ..indexing import status"),
        ("ragcore.chat.answer", "from .. import indexing"),
        ("ragcore.chat.answer", "from ragcore.grounded.ask import Ask"),
        ("ragcore.indexing.feed", "import ragcore.chat.messages"),
        ("ragcore.indexing.feed", "from ..chat.messages import completion"),
        ("api.ai", "from tasks import base"),
        ("api.ai", "import deploy"),
        ("api.ai", "from celery import Celery"),
        ("tasks.base", "import api.context"),
        ("tasks.base", "from deploy import serve"),
        ("tasks.base", "import flask"),
        ("deploy.cli", "from tests.support import api"),
    ],
)
def test_a_violation_is_found(module: str, source: str) -> None:
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ragcore.config", "import flaskette, apis, tasks_of_mine, os"),
        ("ragcore.jobs", "from ragcore.errors import Retryable"),
        ("ragcore.files.edit", "from ..documents import FILES\nfrom . import tree"),
        ("ragcore.runtime", "import ragcore.chat, ragcore.indexing"),
        ("ragcore.chat.answer", "from ragcore.chat import messages\nfrom . import sources"),
        ("ragcore.chats", "import ragcore.indexing"),
        ("api.ai", "import flask\nfrom api import errors\nfrom ragcore.chat import accept"),
        ("tasks.base", "import celery\nfrom ragcore.indexing import feed"),
        ("deploy.serve", "import api, tasks, ragcore, deploy.cli"),
    ],
)
def test_what_is_allowed_is_not_reported(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_a_relative_import_of_a_package_is_its_own() -> None:
    assert list(imported_by("from .chat import x", "ragcore", is_package=True)) == ["ragcore.chat.x"]
    assert violations("from ..chat import x", "ragcore.indexing", is_package=True)


def required_by(distribution: str, extras: bool = False) -> set[str]:
    required = metadata.requires(distribution) or []
    names = (
        re.split(r"[^\w.-]", requirement)[0] for requirement in required if extras or "extra ==" not in requirement
    )
    return set(map(spelled, names))


def spelled(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_what_is_imported_is_declared(package: str) -> None:
    """In pyproject.toml, or by a package that is declared there: what is there by luck is missing one day."""
    own = {*PACKAGES, "tests", "sandbox_client"}  # the last is read from its own folder, without our packages
    imported = {
        name.partition(".")[0]
        for module, path in modules([package])
        for name in imported_by(path.read_text(), module, path.name == "__init__.py")
    }
    declared = required_by("ragcore", extras=package in ("deploy", "tests"))  # the stand-in is of `deploy`
    declared |= {name for distribution in declared for name in required_by(distribution)}
    sources = metadata.packages_distributions()
    others = imported - own - sys.stdlib_module_names
    assert {name for name in others if not declared & set(map(spelled, sources.get(name, [])))} == set()
