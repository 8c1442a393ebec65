"""Which language a message is in, by its script and its commonest words."""

import re
from typing import Literal

Language = Literal["en", "de"]  # those that the responder answers in


def is_foreign(message: str) -> bool:
    """In doubt it is English: a name or a number is in no language."""
    letters = [character for character in message if character.isalpha()]
    if sum(character > "\u024f" for character in letters) * 2 > len(letters):
        return True
    words = re.findall(r"[^\W\d_]+", message.lower())
    return sum(word in _ELSEWHERE for word in words) > sum(word in _ENGLISH for word in words)


def language_of(message: str) -> Language:
    """German where its words outnumber the English ones; in doubt, and of any other language, English."""
    words = re.findall(r"[^\W\d_]+", message.lower())
    is_german = sum(word in _GERMAN for word in words) > sum(word in _ENGLISH - _IN_BOTH for word in words)
    return "de" if is_german else "en"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _words(
    "the a an i is are am my you your to of and in it for what how on with not that this have has do does "
    "we they he she was be at from me or but can will s t m"
)
_ELSEWHERE = _words(
    # Spanish, Portuguese, French, Italian, German, Dutch, Swedish, Polish; without what English has too.
    "el la los las una de que y en mi yo es con por para soy tengo vivo donde dónde cuándo qué quién cómo gusta "
    "eu meu minha não uma com em os da moro onde quem qual "
    "le les je est et mon ma une des dans où quand suis habite quel quelle ne pas "
    "il mio mia sono ho di che non per dove quando chi abito "
    "der das ich und ist mein meine nicht ein eine wo wann wer wie bin habe wohne "
    "ik het een mijn van niet jag och är min mitt inte jest nie się mam"
)
_IN_BOTH = _words("am in was will")
# Without what English, French, Dutch or the Nordic languages have too.
_GERMAN = _words(
    "ich wir der das und ist sind bist mein meine meinen meinem meiner unser unsere dein deine nicht kein keine keinen "
    "ein eine einen einem einer dem wo wann wer wie warum weshalb welche welcher welches wohne heiße heisse habe hast "
    "kann kannst darf dürfen mag mögen muss mir mich dich dir auf von zu heute morgen gestern bitte danke merk merke "
    "unserem gegen weil auch noch sehr als über zum zur für hallo vergiss weißt esse trinke arbeite spät"
)
