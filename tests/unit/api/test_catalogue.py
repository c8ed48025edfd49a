"""The texts of the page: each in both languages and used, none missing."""

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import api
import ragcore

STATIC = Path(api.__file__).parent / "static"
CHAT = Path(ragcore.__file__).parent / "chat"
NAMED = re.compile(r"\bt\('(\w+)'(?:, \{([^}]*)\})?")  # t('page', { page: source.page })
COMPUTED = re.compile(r"\b(?:t|said)\(`([^`]*)`")  # said(`error_${code}`, message)

Catalogue = dict[str, list[str]]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    program = "import(process.argv[1]).then(({ catalogue }) => console.log(JSON.stringify(catalogue)))"
    command = ["node", "--no-warnings", "-e", program, (STATIC / "lib/catalogue.js").as_uri()]
    found: Catalogue = json.loads(subprocess.check_output(command, text=True))
    return found


@pytest.fixture(scope="module")
def source() -> str:
    """What we wrote of the page, without the catalogue."""
    files = (file for file in STATIC.rglob("*.js") if file.parent.name != "vendor" and file.name != "catalogue.js")
    return "\n".join(file.read_text() for file in files)


def values(text: str) -> set[str]:
    """Those that must be given for it; `n` decides between one and many."""
    return set(re.findall(r"\{(\w+)\}", text)) | ({"n"} if "|" in text else set())


def test_each_text_is_in_both_languages_with_the_same_values(catalogue: Catalogue) -> None:
    for key, texts in catalogue.items():
        assert len(texts) == 2, key
        assert all(part.strip() for text in texts for part in text.split("|")), key
        assert values(texts[0]) == values(texts[1]), key
        assert all(text.count("|") <= 1 for text in texts), key


def test_french_marks_do_not_begin_a_line(catalogue: Catalogue) -> None:
    assert [
        text
        for _, text in catalogue.values()
        if re.search("(?<!\N{NO-BREAK SPACE})[:;?!»]|«(?!\N{NO-BREAK SPACE})", text)
    ] == []


def test_each_text_that_is_asked_for_is_there_and_gets_its_values(catalogue: Catalogue, source: str) -> None:
    calls = NAMED.findall(source)
    assert len(calls) > 50
    assert {key for key, _ in calls} <= set(catalogue)
    for key, given in calls:
        assert values(catalogue[key][0]) <= set(re.findall(r"\w+", given)), key


def test_each_text_is_used(catalogue: Catalogue, source: str) -> None:
    named = set(re.findall(r"'(\w+)'", source))
    patterns = [re.sub(r"\$\{[^}]*\}", r"\\w+", template) for template in COMPUTED.findall(source)]
    computed = {key for key in catalogue if any(re.fullmatch(pattern, key) for pattern in patterns)}
    assert set(catalogue) - named - computed == set()


def test_each_code_of_an_error_has_its_text(catalogue: Catalogue) -> None:
    found = {code for file in CHAT.glob("*.py") for code in codes(file)}
    assert {"internal", "late", "not_indexed", "interrupted"} <= found
    assert {key.removeprefix("error_") for key in catalogue if key.startswith("error_")} == found


def codes(file: Path) -> Iterator[str]:
    """Of `AnswerError("code", ...)`, and of the pairs that it is made of elsewhere."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(func=ast.Name("AnswerError"), args=[ast.Constant(str(code)), *_]):
                yield code
            case ast.Call(func=ast.Name("cls"), args=[ast.Constant(str(code)), _]) if file.name == "errors.py":
                yield code
            case ast.Assign(value=ast.Tuple([ast.Constant(str(code)), _])) if file.name == "errors.py":
                yield code
