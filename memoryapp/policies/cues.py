"""Words by which a text shows what it is: about its speaker, about a time, a question for one or for a reply.

By language, as ``policies.languages`` tells it: ``an`` is a year in French and nothing in English. A language that is
not listed has no cues; its figures and question marks still count.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from memoryapp.policies.languages import language_of

ASKED_IN_SHORT: Final = 15  # words, or twice as many signs of a script without spaces
_ONE_QUESTION: Final = re.compile(r"[^.!?,;:…。！？，；：؟\n]+[?？؟]+")
_ASKS_ABOUT_QUESTIONS: Final = re.compile(
    r"\bask(s|ed|ing)?\b|\bquestions?\b|frag|pregunt|pergunt|demand|chied|chiest|问|問|質問|聞い",
    re.IGNORECASE,
)

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
# An order to forget, as a sentence begins: "Don't forget that …" and "I forget names" are none. Lengths are bounded, so
# that a long text takes no more than its length.
_TO_FORGET: Final = {
    "en": r"(forget|unlearn|disregard) (that|what|everything|anything|all|my|our|im|ive|i|about (me|my)|"
    r"(the|this) (fact|memory|note|thing)s?)\b|"
    r"(delete|remove|erase|wipe|drop|clear) ([^.!?\n]{0,80}?\b(from|all|my|your|the|this|that) )?memor(y|ies)\b|"
    r"(dont|do not|stop) (remember(ing)?|memori[sz](e|ing)) (that|this|it|anything|everything|my)\b",
    "de": r"(vergiss|vergesst|vergessen sie) (bitte )?(das|dass|daß|was|alles|mein\w*|unser\w*)\b|"
    r"lösch\w*\b[^.!?\n]{0,80}? (gedächtnis|erinnerung\w*)\b",
    "es": r"(olvida|olvide|olvídate|olvidate|olvídese)( de)? (que|lo que|todo|mi|mis|esto|eso)\b|"
    r"(borra|borre|elimina|elimine)\b[^.!?\n]{0,80}? memoria\b",
    "fr": r"oublie[zs]? (que|ce que|tout|mon|ma|mes|cela|ça|le fait)\b|"
    r"(efface|effacez|supprime|supprimez)\b[^.!?\n]{0,80}? mémoire\b",
    "it": r"(dimentica|dimentichi|scorda|scordati)( di)? (che|quello che|ciò che|tutto|questo|(il|la|i|le) mi\w+)\b|"
    r"(cancella|elimina|rimuovi)\b[^.!?\n]{0,80}? memoria\b",
    "pt": r"(esquece|esqueça)( te| se)?( de)? (que|o que|tudo|isso|isto|(o |a |os |as )?(meu|minha)s?)\b|"
    r"(apaga|apague|remove|remova|elimina|elimine)\b[^.!?\n]{0,80}? memória\b",
    "nl": r"vergeet (alsjeblieft )?(dat|wat|alles|mijn|dit)\b|(wis|verwijder)\b[^.!?\n]{0,80}? geheugen\b",
    "sv": r"glöm (bort )?(att|vad|allt|det|min|mitt|mina)\b",
    "da": r"glem (at|hvad|alt|det|min|mit|mine)\b",
    "no": r"glem (at|hva|alt|det|min|mitt|mine)\b",
    "fi": r"unohda (että|mitä|kaikki|se|tämä|minun)\b",
    "pl": r"(zapomnij|zapomnijcie)( o tym)? (że|co|o tym|wszystko|mój|moja|moje|o mo\w+)\b",
    "ru": r"забудь(те)? (что|о том|обо мне|вс[её]|про|мо\w+|о мо\w+|это)\b|"
    r"(удали|сотри)(те)?\b[^.!?\n]{0,80}? памят[иь]\b",
    "uk": r"забудь(те)? (що|про|все|мо\w+|це)\b",
    "zh": r"[请請]你?(把[^。！？\n]{0,40}?)?(忘记|忘記|忘掉|忘了)|把[^。！？\n]{0,40}?忘(掉|了吧)|"
    r"忘掉(我|关于|關於|所有|一切)|(不要|别|別)(记住|記住)",
}
# The verb stands last.
_TO_FORGET_AT_END: Final = (
    r"\bunut(un|unuz)?(?= ?([.!\n]|$))|"
    r"忘れて(ください|下さい|くれ|ほしい|欲しい|ね)?(?= ?([。！!\n]|$))|"
    r"잊어 ?(줘|주세요|버려|라)"
)
_ORDER_BEGINS: Final = (
    r"(?:^|[.!?;:。！？\n]) ?[\"“„«¿¡]?"
    r"(?:(?:please|ok|okay|hey|oh|no|now|and|then|so|sorry|actually|just|can|could|would|will|you|i want you to|"
    r"id like you to|bitte|por favor|sil (?:te|vous) plaît|per favore|пожалуйста|будь ласка) ){0,6}"
)
# What a speaker calls themselves as a subject, for a name in a question.
PRONOUNS: Final = {
    "en": "I", "de": "ich", "es": "yo", "fr": "je", "it": "io", "pt": "eu", "nl": "ik", "zh": "我", "ja": "私",
}  # fmt: skip
_FIGURE: Final = re.compile(r"\d")
_QUESTION_MARK: Final = re.compile(r"[?？؟]\W*$")
_BLANKS: Final = re.compile(r"[^\w.!?;:。！？\n\"“„«¿¡]+")  # commas too
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


def asks_to_forget(text: str) -> bool:
    """Whether it tells the assistant to forget something; in any of the languages, for it may be a few words of one."""
    plain = _BLANKS.sub(" ", text.translate(_APOSTROPHES))
    return bool(_order_to_forget().search(plain))


@cache
def _order_to_forget() -> re.Pattern[str]:
    orders = "|".join(_TO_FORGET.values())
    return re.compile(f"{_ORDER_BEGINS}(?:{orders})|{_TO_FORGET_AT_END}", re.IGNORECASE)


def _has(cues: Mapping[str, str], text: str) -> bool:
    cue = cues.get(language_of(text))
    return bool(cue and _compiled(cue).search(text.translate(_APOSTROPHES)))


@cache
def _compiled(cue: str) -> re.Pattern[str]:
    return re.compile(cue, re.IGNORECASE)


def is_only_a_question(text: str) -> bool:
    """Whether it is one short question and says nothing besides."""
    said = text.strip()
    words = len(said.split()) if " " in said else len(said) / 2
    return words <= ASKED_IN_SHORT and _ONE_QUESTION.fullmatch(said) is not None


def asks_about_questions(text: str) -> bool:
    """Whether it may ask for what was asked before."""
    return _ASKS_ABOUT_QUESTIONS.search(text) is not None
