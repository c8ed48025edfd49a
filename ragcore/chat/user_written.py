"""What the user typed: a value of an `x-user-written` param is kept only as it stands in the user's messages.

The seed's "What protects an action" and the issue's "User-written values" give the rules. To find a whole word
in one quick search, whatever the text, the places where a word may begin and end are marked in the text, and
those of the value in the value: both have the same marks inside, since what stands around a value changes
nothing there, and so the marked value is in the marked text only as whole words. Marks are white space that is
none of the text's own any more, since that is folded to spaces before.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

BEGIN, END, BETWEEN = "\t", "\n", "\r"  # a word may begin here, may end here; two texts touch

_DOTS = re.compile(f"({BEGIN}?)([.]+)({END}?)")
_UNMARKED = str.maketrans("", "", BEGIN + END)


class _Folding(dict[int, str]):
    """A character to its folded one, each looked up once. Python folds fully: one character to several."""

    newer = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}  # simple since Unicode 15.1

    def __missing__(self, code: int) -> str:
        char = chr(code)
        choices = (char.casefold(), self.newer.get(char, char.lower()), char)
        self[code] = next(text for text in choices if len(text) == 1)
        return self[code]


_FOLDING = _Folding()


def folded(text: str) -> str:
    """The text without its case, by Unicode's simple folding: one character for one, so that `İ` is not `i`."""
    return text.translate(_FOLDING)


class _Rule(dict[int, str]):
    """What continues a word, beside letters (their accents with them) and digits; dots are passed over.

    As a table for `str.translate`: each character with the marks that it makes beside itself.
    """

    def __init__(self, before: str, after: str) -> None:
        super().__init__({ord("."): "."})
        self._before, self._after = before, after

    def __missing__(self, code: int) -> str:
        char = chr(code)
        in_word = char.isalnum() or unicodedata.category(char).startswith("M")
        end = "" if in_word or char in self._after else END
        begin = "" if in_word or char in self._before else BEGIN
        self[code] = f"{end}{char}{begin}"
        return self[code]

    def marked(self, text: str) -> str:
        return _DOTS.sub(_with_marks, f"{BEGIN}{text.translate(self)}{END}")


def _with_marks(dots: re.Match[str]) -> str:
    """Dots, each with the marks of what stands around all of them."""
    begin, run, end = dots.groups()
    return f"{begin}{f'{end}.{begin}' * len(run)}{end}"


_ADDRESS = _Rule(before="!#$%&'*+-/=?^_`{|}~@", after="-_@")
_WORDS = _Rule(before="@-_+", after="@-_+")


@dataclass(frozen=True)
class _Index:
    """The texts marked by a rule, as they were typed and without their case, each as long as the other."""

    typed: str
    folded: str

    @classmethod
    def of(cls, texts: str, rule: _Rule) -> "_Index":
        marked = rule.marked(texts)
        return cls(marked, folded(marked))

    def find(self, marked: str) -> str | None:
        if marked in self.typed:
            return marked
        at = self.folded.find(folded(marked))
        return None if at < 0 else self.typed[at : at + len(marked)]


class Written:
    """What was typed in the texts of the messages of role `user`."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = BETWEEN.join(_spaced(text) for text in texts)

    def find(self, value: str) -> str | None:
        """The value as the user typed it: in its own spelling, else in the first that differs in case only.

        White space is folded and a final dot dropped. None when it is not there as whole words.
        """
        value = _spaced(_spaced(value).removesuffix("."))
        if not any(char.isalnum() for char in value):
            return None
        rule, index = (_ADDRESS, self._addresses) if "@" in value else (_WORDS, self._words)
        found = index.find(rule.marked(value))
        return found and found.translate(_UNMARKED)

    # made when they are needed: most answers have no action, and most values are of one kind

    @cached_property
    def _addresses(self) -> _Index:
        return _Index.of(self._texts, _ADDRESS)

    @cached_property
    def _words(self) -> _Index:
        return _Index.of(self._texts, _WORDS)


def _spaced(text: str) -> str:
    return " ".join(text.split())
