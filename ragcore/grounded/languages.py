"""The answer that says that there is nothing, in the language of the question.

A question is short: its small words tell its language better than statistics of its letters do.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

UNKNOWN = "en"
LONGEST = 2000  # characters of a question that are looked at
LAST_LATIN = "\u024f"
_WORD = re.compile(r"[^\W\d_]+")


def nothing_found(questions: Iterable[str]) -> str:
    """In the language of the first question that has a known one: the last one asked comes first."""
    language = next((known for question in questions if (known := language_of(question))), UNKNOWN)
    return str(_languages()[language]["nothing"])


def language_of(text: str) -> str | None:
    """Its code; None where nothing says which."""
    text = text[:LONGEST].casefold()
    letters = [char for char in text if char.isalpha()]
    if sum(char > LAST_LATIN for char in letters) * 2 > len(letters):
        scripts = ((code, language.get("script")) for code, language in _languages().items())
        # Japanese comes before Chinese, whose letters it uses
        return next((code for code, script in scripts if script and re.search(f"[{script}]", text)), None)
    words = _WORD.findall(text)
    votes = Counter({code: sum(weight.get(word, 0.0) for word in words) for code, weight in _weights().items()})
    (best, most), (_, second) = votes.most_common(2)
    return best if most > second else None


@cache
def _languages() -> dict[str, dict[str, Any]]:
    text = files("ragcore.grounded").joinpath("prompts/languages.json").read_text("utf-8")
    languages: dict[str, dict[str, Any]] = json.loads(text)
    return languages


@cache
def _weights() -> dict[str, dict[str, float]]:
    """The small words of each language; one that several have says less."""
    words = {code: language["words"].split() for code, language in _languages().items() if "words" in language}
    often = Counter(word for known in words.values() for word in set(known))
    return {code: {word: 1 / often[word] for word in known} for code, known in words.items()}
