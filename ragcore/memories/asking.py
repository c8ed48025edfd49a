"""Whether a user's message asks to remember something, in English or French.

Only a sentence, or a part of one, that tells the assistant to do so counts: no question about what it remembers, no
telling of what the user remembers or saved, no refusal. What is quoted is somebody else's. When in doubt it is no: the
memory waits for a review then.
"""

import re

from ragcore.memories.words import unaccented

LONGEST = 20_000  # characters that are looked at
_QUOTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_PARTS = re.compile(r"[,;:()]|\s[-–—]\s|\b(?:and|then|but|et|puis|mais)\b")
_END = r"\s*(?:for (?:me|us|later|next time)|pour (?:moi|nous|plus tard)|please|s'il (?:te|vous) plait|stp|svp)?\s*$"

# before the verb, in any order
_POLITE = (
    r"(?:(?:please|kindly|also|now|so|ok|okay|hey|hi|hello|just|always|assistant"
    r"|s'il (?:te|vous) plait|stp|svp|aussi|maintenant|alors|donc|bonjour|salut|merci de|veuillez)\s+)*"
)
_TELLS = (  # which makes an order of the verb
    r"(?:(?:i|we) (?:want|need|would like|'d like) you to |(?:i|we)'d like you to |you (?:should|must|need to|have to) "
    r"|(?:je|nous) (?:veux|voudrais|voulons|souhaite|aimerais) que (?:tu|vous) |j'aimerais que (?:tu|vous) "
    r"|il (?:faut|faudrait) que (?:tu|vous) |(?:tu|vous) (?:dois|devez|devrais|devriez) )?"
)
_MAY_YOU = (
    r"(?:can|could|would|will) you (?:please )?|would you mind |(?:peux|pourrais|veux|voudrais)-tu "
    r"|(?:pouvez|pourriez|voulez|voudriez)-vous |(?:est-ce que )?(?:tu|vous) (?:peux|pourrais|pouvez|pourriez) "
)

_REMEMBERS = (
    r"(?:remember(?:ing)?|memori[sz](?:e|ing)|(?:keep|bear) (?:\w+ )?in mind|(?:do not|don't|never) forget"
    r"|(?:make|take) (?:a )?note|note (?:down|that|this)|jot (?:down|this|that)"
    r"|souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous"
    r"|(?:te|vous) (?:souvenir|souviennes|souveniez|rappeler|rappelles|rappeliez)"
    r"|(?:retiens|retenez|retenir|retiennes|reteniez|memorise[zrs]?|memorisiez)(?:-l[ea]s?)?"
    r"|(?:note|notez|noter|notes|notiez)(?:-l[ea]s?| bien| que| qu'| ceci| cela| ca)"
    r"|(?:prends|prenez|prendre|prennes|preniez) (?:bien )?(?:en )?note"
    r"|(?:garde|gardez|garder|gardes|gardiez)(?:-l[ea]s?)? (?:[\w']+ ){0,3}?(?:en (?:memoire|tete)|a l'esprit)"
    r"|(?:ne )?(?:l')?(?:n')?oublie[sz]?(?:-l[ea]s?)? (?:surtout )?(?:pas|jamais))\b"
)
_SAVES = (
    r"(?:save|store|keep|record|add|put|write|commit|log|saving|storing"
    r"|(?:enregistre|sauvegarde|stocke|conserve|ajoute|garde|inscri|met)(?:r|z|s|tre|ttez|re|vez)?)"
)
_THIS = r"(?: (?:this|that|it|these|those|them|ceci|cela|ca)|-l[ea]s?)"
_MEMORY = r"\b(?:memory|memories|memoires?|souvenirs?|takeaways|learnings)\b"
_REMEMBER = re.compile(_REMEMBERS)
_SAVE = re.compile(rf"{_SAVES}(?:{_THIS}{_END}|\b.*{_MEMORY})")
# a question asks for it only when it says what: `can you remember where` asks something else
_WHAT = re.compile(
    r"\b(?:that|this|these|those|it|following|que|qu'|ceci|cela|ca|l[ea]s? fait|suivante?s?)(?=\W|$)|-l[ea]\b"
)

_LEADS = re.compile(_POLITE + _TELLS + _POLITE)
_ASKS = re.compile(_POLITE + rf"(?:{_MAY_YOU})" + _POLITE)


def asks_to_remember(message: str) -> bool:
    text = _QUOTED.sub(" ", unaccented(message[:LONGEST]).replace("’", "'"))
    return any(_is_asked(sentence) for sentence in _SENTENCE.findall(text))


def _is_asked(sentence: str) -> bool:
    question = sentence.rstrip().endswith("?")
    parts = [part.strip(" .!?\t*-•") for part in _PARTS.split(sentence)]
    return any(_is_request(part) or (not question and _is_order(part)) for part in parts)


def _is_order(part: str) -> bool:
    verb = _end_of(_LEADS, part)
    return bool(_REMEMBER.match(part, verb) or _SAVE.match(part, verb))


def _is_request(part: str) -> bool:
    """`Can you remember that ...?`"""
    if not (verb := _end_of(_ASKS, part)):
        return False
    if _SAVE.match(part, verb):
        return True
    remember = _REMEMBER.match(part, verb)
    return bool(remember and (_WHAT.search(remember.group()) or _WHAT.match(part[remember.end() :].lstrip())))


def _end_of(beginning: re.Pattern[str], part: str) -> int:
    """Where the verb begins; 0 where it may be at once, or there is no such beginning."""
    found = beginning.match(part)
    return found.end() if found else 0
