"""The answer without an LLM: the best passages, quoted word by word."""

import re

from deploy.sandbox.pieces import Delta, End, Json, Pause, Pieces
from deploy.sandbox.retrieval import Passage, stem, words_of

QUOTED = 3
QUOTE_LENGTH = 280

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
_WORDS = re.compile(r"\s*\S+\s*")

INTRODUCTION = "No language model is connected here, so these are the passages that fit your question best."
NOTHING = "No language model is connected here, and no passage of your documents fits your question."
ALONE = "No language model is connected here, and the documents were not to be used: there is no answer."


def quote(question: str, passage: Passage) -> str:
    """The sentence that has most of the question's words, with what follows it, in one line."""
    sentences = [part for part in _SENTENCE_END.split(passage.content) if part.strip(" #*-|")]
    if not sentences:
        return passage.content.strip()
    wanted = {stem(word) for word in words_of(question)}
    counts = [len(wanted & {stem(word) for word in re.findall(r"\w+", text)}) for text in sentences]
    best = counts.index(max(counts))
    text = ""
    for sentence in sentences[best:]:
        if text and len(text) + len(sentence) > QUOTE_LENGTH:
            break
        text = f"{text} {sentence.strip(' #')}".strip()
    return text


def answer_text(question: str, passages: list[Passage]) -> str:
    """Numbered in the order of `passages`, as the sources are."""
    if not passages:
        return NOTHING
    quotes = [
        f"“{quote(question, passage)}” [{number}] ({_place(passage)})"
        for number, passage in enumerate(passages[:QUOTED], start=1)
    ]
    return "\n\n".join([INTRODUCTION, *quotes])


def stream(text: str, word_delay: float, usage: Json | None) -> Pieces:
    yield Delta({"role": "assistant", "content": ""})
    for word in _WORDS.findall(text):
        yield Delta({"content": word})
        yield Pause(word_delay)
    yield End(usage=usage)


def _place(passage: Passage) -> str:
    paged = passage.filename.lower().endswith(".pdf")
    return f"{passage.filename}, page {passage.page}" if paged else passage.filename
