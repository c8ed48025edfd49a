"""A passage cut to what is around its words of the question: whole sentences where they fit, else whole words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

LONGEST = 700  # characters of a passage
MOST_WORDS = 1000  # of a text that are looked at
_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])|\n\s*")
_STEM = 5  # characters: of a word and its plural, or its conjugations, the beginning is the same

Span = tuple[int, int]


def stems_of(text: str) -> set[str]:
    """What the words of a text have in common with other forms of the same words."""
    return {_stem(found[0]) for found, _ in zip(_WORD.finditer(text), range(MOST_WORDS), strict=False)}


def share(stems: set[str], text: str) -> float:
    """The part of the words that is in a text, from 0 to 1."""
    return len(stems & stems_of(text)) / len(stems) if stems else 0.0


def cut(text: str, stems: set[str], longest: int = LONGEST) -> str:
    """A piece of the text of at most so many characters, around the sentence that has most of the words."""
    text = text.strip()
    if len(text) <= longest:
        return text
    sentences = _sentences(text)
    best = _best([text[slice(*span)] for span in sentences], stems)
    start, end = sentences[best]
    if end - start <= longest:
        return text[slice(*_around(sentences, best, longest))].strip()
    sentence = text[start:end]
    words = [found.span() for found in re.finditer(r"\S+", sentence)]
    best = _best([sentence[slice(*span)] for span in words], stems)
    start, end = _around(words, best, longest)
    return sentence[start : min(end, start + longest)]  # what is longer is no word of a language


def _sentences(text: str) -> list[Span]:
    """Those that are not blank."""
    ends = [found.span() for found in _SENTENCE_END.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    spans = zip(starts, [*(start for start, _ in ends), len(text)], strict=True)
    return [span for span in spans if text[slice(*span)].strip()]


def _best(parts: Sequence[str], stems: set[str]) -> int:
    """The first with most of the words; one that is in many parts, as `the`, says little of any."""
    found = [stems & stems_of(part) for part in parts]
    often = Counter(_all(found))
    return max(range(len(parts)), key=lambda n: sum(1 / often[stem] for stem in sorted(found[n])))


def _all(sets: Iterable[set[str]]) -> Iterable[str]:
    return (stem for stems in sets for stem in stems)


def _around(spans: Sequence[Span], n: int, longest: int) -> Span:
    """The n-th of the spans with its neighbours, as many as fit; what follows says more than what is before."""
    first, (start, end) = n, spans[n]
    for following in spans[n + 1 :]:
        if following[1] - start > longest:
            break
        end = following[1]
    while first and end - spans[first - 1][0] <= longest:
        first, start = first - 1, spans[first - 1][0]
    return start, end


def _stem(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))[:_STEM]
