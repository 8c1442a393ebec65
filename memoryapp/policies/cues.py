"""Words by which a text shows what it is: about its speaker, about a time, a question for one or for a reply.

By language, as ``policies.languages`` tells it: ``an`` is a year in French and nothing in English. A language that is
not listed has no cues; its figures and question marks still count.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from memoryapp.policies.languages import language_of

_FIRST_PERSON: Final = {
    "en": r"\b(i|im|ive|id|ill|my|me|mine|myself|we|our|us)\b",
    "de": r"\b(ich|mein\w*|mir|mich|wir|uns\w*)\b",
    "es": r"\b(yo|mi|mis|me|mí|nosotr[oa]s|nuestr[oa]s?|nos|soy|estoy|tengo|fui|he|vivo)\b",
    "fr": r"\b(je|j|me|moi|mon|ma|mes|nous|notre|nos)\b",
    "it": r"\b(io|mi|mio|mia|miei|mie|me|noi|nostr[oaie]|sono|ho|abbiamo)\b",
    "pt": r"\b(eu|me|mim|meu|minha|meus|minhas|nós|noss[oa]s?|sou|estou|tenho|fui)\b",
    "nl": r"\b(ik|mijn|mij|me|wij|we|ons|onze)\b",
    "sv": r"\b(jag|mig|min|mitt|mina|vi|oss|vår\w*)\b",
    "da": r"\b(jeg|mig|min|mit|mine|vi|os|vores)\b",
    "no": r"\b(jeg|meg|min|mitt|mine|vi|oss|vår\w*)\b",
    "fi": r"\b(minä|minu\w*|me|meidän|olen|mun|mä)\b",
    "pl": r"\b(ja|mnie|mi|mój|moja|moje|moim|mojej|my|nas|nasz\w*|jestem|mam)\b",
    "ru": r"\b(я|мне|меня|мой|моя|моё|мое|мои|моей|моего|мы|нас|наш\w*)\b",
    "uk": r"\b(я|мені|мене|мій|моя|моє|мої|ми|нас|наш\w*)\b",
    "tr": r"\b(ben|bana|beni|benim|biz|bizim)\b",
    "zh": r"[我咱]",
    "ja": r"[私僕俺]|うち",
    "ko": r"나는|내가|제가|저는|우리|나의|내 |제 ",
}
_TIME: Final = {
    "en": r"\b(yesterday|today|tomorrow|tonight|weeks?|weekends?|months?|years?|days?|morning|afternoon|evening|night|"
    r"ago|last|next|(mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|"
    r"september|october|november|december)\b",
    "de": r"\b(gestern|heute|morgen|abend|woche\w*|wochenende|monat\w*|jahr\w*|tage?n?|vor|nächste\w*|letzte\w*|"
    r"\w+tag)\b",
    "es": r"\b(ayer|hoy|mañana|noche|semanas?|mes|meses|años?|días?|hace|pasad[oa]|próxim[oa]|lunes|martes|miércoles|"
    r"jueves|viernes|sábado|domingo)\b",
    "fr": r"\b(hier|aujourdhui|demain|soir|matin|semaines?|mois|ans?|années?|jours?|dernière?|prochaine?|lundi|mardi|"
    r"mercredi|jeudi|vendredi|samedi|dimanche)\b",
    "it": r"\b(ieri|oggi|domani|sera|mattina|settiman[ae]|mes[ei]|ann[oi]|giorn[oi]|fa|scors[oa]|prossim[oa]|sabato|"
    r"domenica|luned[iì]|marted[iì]|mercoled[iì]|gioved[iì]|venerd[iì])\b",
    "pt": r"\b(ontem|hoje|amanhã|noite|semanas?|mês|meses|anos?|dias?|atrás|passad[oa]|próxim[oa]|segunda|terça|quarta|"
    r"quinta|sexta|sábado|domingo)\b",
    "nl": r"\b(gisteren|vandaag|morgen|avond|we(ek|ken)|maand\w*|jaar|jaren|dag\w*|geleden|vorige?|volgende?|\w+dag)\b",
    "ru": r"\b(вчера|сегодня|завтра|вечер\w*|утр\w*|недел\w+|месяц\w*|год\w*|лет|дн\w{1,3}|назад|прошл\w+|"
    r"следующ\w+)\b",
    "zh": r"昨|今|明天|后天|前天|去年|周|星期|月|年|天前|上个|下个",
    "ja": r"昨日|今日|明日|昨年|去年|来年|今年|先週|来週|今週|先月|来月|曜日|年前|月|日前",
    "ko": r"어제|오늘|내일|지난|다음|작년|내년|요일|주말",
}
_ASKS_WHEN: Final = {
    "en": r"\b(when|how long|how often|since when|(what|which) (date|day|month|year|time))\b",
    "de": r"\b(wann|wie lange|wie oft|seit wann|welche[nmrs]? (datum|tag|monat|jahr))\b",
    "es": r"\b(cuándo|cuando|cuánto tiempo|desde cuándo|qué (día|fecha|mes|año))\b",
    "fr": r"\b(quand|combien de temps|depuis quand|quel(le)? (jour|date|mois|année))\b",
    "it": r"\b(quando|quanto tempo|da quando|che (giorno|data|mese|anno))\b",
    "pt": r"\b(quando|quanto tempo|desde quando|que (dia|data|mês|ano))\b",
    "nl": r"\b(wanneer|hoelang|hoe lang|sinds wanneer|welke (dag|datum|maand))\b",
    "sv": r"\b(när|hur länge)\b",
    "da": r"\b(hvornår|hvor længe)\b",
    "no": r"\b(når|hvor lenge)\b",
    "pl": r"\b(kiedy|jak długo)\b",
    "ru": r"\b(когда|как долго|сколько времени|како[гй]о? числа)\b",
    "zh": r"什么时候|何时|几月|几号|哪天|哪年|哪一[天年]|多久|几点",
    "ja": r"いつ|何[日月年時]|どのくらいの期間",
    "ko": r"언제|며칠|얼마나 오래",
}
_ASKS_FOR_REPLY: Final = {
    "en": r"\b(did|have|had) you (ever |already |just )?(say|tell|said|told|recommend\w*|suggest\w*|advise\w*|"
    r"mention\w*|propose\w*|explain\w*|write|written|give|given|list\w*|answer\w*|call\w*|come up)\b"
    r"|\byou (said|told|recommended|suggested|advised|mentioned|proposed|explained|wrote|gave|listed|answered|called)\b"
    r"|\byour (last |first |earlier )?(answer|advice|recommendations?|suggestions?|reply|proposal|explanation|draft)\b",
    "de": r"\b(hast|hattest) du\b.*\b(gesagt|empfohlen|vorgeschlagen|geraten|erklärt|geschrieben|genannt|gegeben)\b"
    r"|\bdu\b.*\b(gesagt|empfohlen|vorgeschlagen|geraten|erklärt|geschrieben) hast\b"
    r"|\bdeine?[nmrs]? (antwort|vorschl\w+|empfehlung\w*|rat|tipps?|erklärung)\b",
    "es": r"\b(dijiste|recomendaste|sugeriste|aconsejaste|propusiste|explicaste|mencionaste|diste|escribiste)\b"
    r"|\btus? (respuesta|consejos?|sugerencias?|recomendaci\w+|propuesta)\b",
    "fr": r"\b(tu m?as|as tu) (dit|recommandé|suggéré|conseillé|proposé|expliqué|donné|écrit)\b"
    r"|\b(ta|tes|ton) (réponse|conseils?|suggestions?|recommandations?|proposition)\b",
    "zh": r"你(之前|上次|以前|刚才|曾经|当时)?(给我)?(说|推荐|建议|告诉|提到|提议|解释|写|给)(过|了|的|我)",
    "ja": r"(教えて|勧めて|薦めて|提案して|説明して|言って)(くれ|い)|あなた(が|の)(言|勧|提案|答え|おすすめ|説明)",
}
# What a speaker calls themselves as a subject, for a name in a question.
PRONOUNS: Final = {
    "en": "I", "de": "ich", "es": "yo", "fr": "je", "it": "io", "pt": "eu", "nl": "ik", "zh": "我", "ja": "私",
}  # fmt: skip
_FIGURE: Final = re.compile(r"\d")
_QUESTION_MARK: Final = re.compile(r"[?？؟]\W*$")
_APOSTROPHES: Final = str.maketrans("", "", "'’")


def speaks_of_itself(text: str) -> bool:
    return _has(_FIRST_PERSON, text)


def tells_a_time(text: str) -> bool:
    return bool(_FIGURE.search(text)) or _has(_TIME, text)


def ends_in_a_question(text: str) -> bool:
    return bool(_QUESTION_MARK.search(text))


def asks_when(question: str) -> bool:
    return _has(_ASKS_WHEN, question)


def asks_for_a_reply(question: str) -> bool:
    """Whether it asks for what the assistant said, not for what the person did."""
    return _has(_ASKS_FOR_REPLY, question)


def _has(cues: Mapping[str, str], text: str) -> bool:
    cue = cues.get(language_of(text))
    return bool(cue and _compiled(cue).search(text.translate(_APOSTROPHES)))


@cache
def _compiled(cue: str) -> re.Pattern[str]:
    return re.compile(cue, re.IGNORECASE)
