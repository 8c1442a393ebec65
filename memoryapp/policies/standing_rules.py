"""Whether a sentence states a standing rule ("never use emojis"), in the languages people write it in.

Conservative: what a rule is missing in the pins still stands in the summary, what is no rule would stand above it for
good. So a rule has to be said the way one is said: as an order, at the beginning of a clause, or with words that make
it last ("from now on"). ``tests/policies/test_summaries.py`` keeps both sides of every pattern.
"""

import re


def states_rule(sentence: str) -> bool:
    """Questions, reported speech, and words inside quotation marks or code do not count."""
    plain = _QUOTED.sub("X", sentence.replace("’", "'").replace("*", ""))
    plain = _MARKERS.sub("", plain).rstrip(" )\"'")
    if not plain or plain[-1] in "?？؟" or plain.startswith("¿") or _REPORTED.search(plain):
        return False
    return any(pattern.search(plain) for pattern in _RULES) and not _TALK.search(plain)


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE | re.VERBOSE)


_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|『[^』]*』")
_MARKERS = re.compile(r"^(?:[\s\-•–—>#_]|\d{1,2}[.)]\s)+")

_REPORTED = _pattern(
    r"""\b(?<!\bI\s)(?:said|says|told|tells|asked|asks|wrote|writes|claimed|insisted)\b
    |\baccording\ to\b
    |\b(?<!\bich\s)(?:sagte|sagt|meinte|meint|schrieb|schreibt|behauptet)\b|\blaut\b
    |\b(?:a|ont|m'a|t'a)\ (?:dit|écrit|demandé)\b|\b(?:dit|disent)\ que\b|\bselon\b
    |\b(?:dijo|dijeron|dice|dicen|pidió|escribió|según)\b
    |\b(?:ha|hanno|mi\ ha)\ (?:detto|chiesto|scritto)\b|\b(?:dice|dicono)\ (?:che|di)\b|\bsecondo\ (?:il|la|lui|lei)\b
    |\b(?:disse|disseram|diz|dizem|pediu|escreveu|segundo)\b
    |(?<!我)(?:[说說](?!明|话|服)|写道|要求我|告诉我|据)
    |と(?:言|い)(?:った|って|われ|う)|と書いて|によると|らしい|そうです"""
)

# The form of a rule, but people just talk like that: "never mind", "don't worry", "always a pleasure".
_TALK = _pattern(
    r"""^(?:(?:please|but|and|so|oh|ok(?:ay)?|well)[,\s]+)*(?:
      never\ (?:mind|again|heard|been|seen|thought|had|knew|ever|the|a|so|too|more|really|good|enough|better|once)\b
      |always\ (?:been|the|a|an|had|so|happy|good|nice|great|fun|thought|knew|there|here|true)\b
      |(?:never|always)\ (?!exceed|proceed|succeed|feed|embed|bring|ping)\w+(?:ed|ing)\b
      |(?:don't|do\ not)\ (?:worry|know|think|understand|see|care|have|mind|need|want|forget|bother|get\ me\ wrong
        |remember|panic|be\ (?:sorry|silly|shy)|you|we|they|I)\b
    )
    |^(?:nie|niemals|immer)\ (?:wieder|mehr|gehört|gesehen|gewesen|noch)\b|^keine\ (?:sorge|ahnung|angst)\b
    |^n'(?:importe|est|ai|as|a|avons|y|en|hésite\w*)\b|^ne\ (?:t'inqui|vous\ inqui|sais|suis|peux
        |t'en\ fais|vous\ en\ faites)
    |^no\ te\ preocup|^non\ (?:preoccup|ti\ preoccup|vi\ preoccup|dimenti)|^não\ se\ preocup
    |不要紧|(?:不要|别)(?:担心|急|客气)|忘れないで|(?:心配|気に|遠慮)しないで
    |\b(?:yet|for\ now|this\ time|right\ now|noch\ nicht|erst\ mal|pour\ l'instant|por\ ahora|per\ ora|por\ enquanto)\b
    |暂时|まだ|とりあえず"""
)

# What an assistant can be told to do; needed where "never" or "only" alone also tell stories.
_DO = r"""(?:add|answer|apply|ask|assume|book|buy|call|change|check|cite|commit|contact|consider|delete|deploy|edit
    |email|explain|export|format|give|include|invent|keep|leave|list|look|make|mention|modify|move|order|output|pay
    |propose|push|put|quote|read|recommend|refer|remove|rename|reply|respond|return|run|save|schedule|send|share|show
    |speak|start|stop|store|suggest|talk|tell|touch|translate|try|use|work|write)"""
_MANNER = r"""(?:address|answer|book|buy|call|cite|commit|deploy|quote|recommend|reply|respond|speak|suggest|talk|use
    |work|write)"""
_START = r"^(?:(?:please|and|but|so|also|then|again|remember|note|important|rule|ok(?:ay)?)[,:;\s]+)*"
_CLAUSE = r"(?:[:;—–.!]\s*|\s-\s)"

_ENGLISH = (
    rf"{_START}(?:please\ )?(?:never|always|do\ not|don't|must\ not|under\ no\ circumstances|at\ no\ point)\ \w",
    rf"{_START}only\ (?:ever\ )?{_MANNER}\b",
    rf"{_CLAUSE}(?:please\ )?(?:never|always|don't\ ever|do\ not|only|don't)\ (?:ever\ )?{_DO}\b",
    r"""^(?:when(?:ever)?|if|for|in|before|after|while|unless|with|on|as)\b[^,;:]*,\s*(?:please\ )?
        (?:never|always|don't|do\ not|only)\ \w""",
    rf"^{_DO}\b(?:(?!\b(?:I|we|he|she|they)\b).){{0,80}}\b(?:always|never|at\ all\ times)\b",
    # Not "show only the first three", which is about one answer.
    rf"^{_MANNER}\b(?:(?!\b(?:I|we|he|she|they)\b).){{0,80}}\b(?:only|exclusively)\b",
    # "Write in German, and never use emojis"; not "I went there and never call".
    rf"""^(?:(?!\b(?:I|we|he|she|they|it|people)\b).)*(?:,|\band|\bbut|\bplease)\s+(?:never|always|don't|do\ not|only)
        \ (?:ever\ )?{_DO}\b""",
    r"""\b(?:from\ now\ on|from\ here\ on|from\ this\ point\ on|going\ forward|henceforth)\b
        (?!,?\s+(?:I|we|he|she|they)\b(?!\s+(?:want|need|expect)\b))""",
    r"^(?:for\ the\ rest\ of|throughout)\ (?:this|the|our)\ (?:conversation|chat|session)\b",
    r"\bmust(?:\ not|\ never|\ always|n't)\b(?!\ have\b)",
    r"\byou\ (?:should|shall|must|may|can|are\ to|need\ to|have\ to)\ (?:never|always|only|not)\b(?!\ have\b)",
    r"\byou(?:'re|\ are)\ (?:not\ allowed|never\ allowed|only\ allowed|never)\ to\b",
    r"\b(?:I\ (?:want|need|expect|'d\ like)|I'd\ like)\ you\ to\ (?:never|always|only)\b|\bI\ never\ want\ you\ to\b",
    r"\bmake\ sure\ (?:to|you|that\ you)\ (?:never|always|only|don't)\b",
)

_GERMAN_DO = r"""(?:antworte|schreibe?|verwende|benutze?|nutze|nenne?|nimm|sprich|gib|mache?|lösche?|ändere?|frage?
    |duze?|sieze?|erwähne?|schicke?|sende|zeige?|speichere?|fasse?|rühre?|halte?|rede|übersetze?|empfiehl|kaufe?|buche?)"""
_GERMAN = (
    rf"^(?:bitte[,\s]+)?{_GERMAN_DO}\b.*\b(?:immer|nie|niemals|kein\w*|nicht|stets)\b",
    r"^(?:bitte[,\s]+)?(?:antworte|schreibe?|sprich|rede|verwende|benutze?|nutze|kaufe?|buche?)\b.*\b(?:nur|ausschließlich)\b",
    r"\bbitte\ (?:niemals?|immer|nur|ausschließlich|kein\w*|nicht)\b(?:(?!\b(?:ich|wir)\b).)*\w+n[.!]*$",
    r"^(?:nie|niemals|immer|stets)\ (?:(?!\b(?:ich|wir|er|sie|es|war|ist|hat)\b).)*\w+e?n[.!]*$",
    r"\b(?:ab\ (?:jetzt|sofort|heute|nun)|von\ (?:jetzt|nun)\ an|künftig|in\ zukunft)\b(?:(?!\b(?:ich|wir)\b).)*$",
    r"\b(?:unter\ keinen\ umständen|auf\ keinen\ fall)\b(?:(?!\b(?:ich|wir)\b).)*$",
    r"\b(?:darf|darfst|dürfen|sollst|sollen)\b(?:(?!\bich\b).)*\b(?:nie|niemals|nicht|kein\w*|nur|immer|keinesfalls)\b",
    r"\b(?:musst|müssen\ sie)\b.*\b(?:immer|stets)\b",
)

_FRENCH_DO = r"""(?:réponds|répondez|utilise[sz]?|écris|écrivez|parle[sz]?|donne[sz]?|garde[sz]?|mets|mettez|fais|faites
    |appelle[sz]?|appelez|tutoie[sz]?|tutoyez|vouvoie[sz]?|vouvoyez|évite[sz]?|cite[sz]?|ajoute[sz]?|propose[sz]?)"""
_FRENCH_PLEASE = r"(?:s'il\ (?:te|vous)\ pla[iî]t[,\s]+|merci\ de\ )?"
_FRENCH = (
    rf"^{_FRENCH_PLEASE}(?:ne\ (?:(?:me|le|la|les|lui|leur)\ )?|n'|ne\ m')[\w-]+\s+(?:\w+\s+)?(?:jamais|pas|plus)\b",
    rf"^{_FRENCH_PLEASE}(?:ne\ (?:jamais|pas|plus)|toujours|jamais)\ \w+(?:er|ir|re)\b",
    rf"^{_FRENCH_PLEASE}{_FRENCH_DO}(?:-\w+)?\b.*\b(?:toujours|uniquement|exclusivement)\b",
    rf"^{_FRENCH_PLEASE}(?:ne\ (?:me\ )?|n')\w+\s+qu(?:e\ |')",
    r"\b(?:à\ partir\ de\ maintenant|désormais|dorénavant|en\ aucun\ cas)\b(?!,?\s+(?:je|j'|nous)\b)",
    r"\b(?:tu\ ne\ dois|vous\ ne\ devez|il\ ne\ faut)\ (?:jamais|pas)\b",
    r"\b(?:tu\ dois|vous\ devez)\ (?:toujours|seulement)\b",
)

_SPANISH_DO = r"""(?:uses?|utilices?|borres?|toques?|escribas?|respondas?|contestes?|menciones?|digas?|hagas?|pongas?
    |hables?|cambies?|envíes?|compres?|llames?|incluyas?|añadas?|inventes?|trates?|modifiques?|recomiendes?)"""
_SPANISH_ORDER = r"""(?:usa|use|utiliza|utilice|escribe|escriba|responde|responda|contesta|conteste|habla|hable|di|diga
    |haz|haga|pon|ponga|llámame|incluye|incluya|cita|añade|pregunta|pregunte)"""
_SPANISH_PLEASE = r"(?:por\ favor[,\s]+)?"
_SPANISH = (
    rf"^{_SPANISH_PLEASE}(?:no|nunca|jamás)\ (?:(?:me|lo|la|los|las|le|les|te|se)\ )?{_SPANISH_DO}\b",
    rf"^{_SPANISH_PLEASE}(?:siempre\ {_SPANISH_ORDER}|(?:solo|sólo|solamente)\ {_SPANISH_ORDER})\b",
    rf"^{_SPANISH_PLEASE}{_SPANISH_ORDER}\b.*\b(?:siempre|nunca|solo|sólo|solamente|únicamente)\b",
    r"""\b(?:a\ partir\ de\ ahora|de\ ahora\ en\ adelante|desde\ ahora|bajo\ ninguna\ circunstancia|en\ ningún\ caso)\b
        (?!,?\s+(?:yo|voy|vamos|trabajo|vivo)\b)""",
    r"\b(?:nunca|no)\ deb(?:es|e|éis)\ \w|\b(?:siempre\ debes?|debes?\ siempre|tienes\ que\ \w+\ siempre)\b",
)

_ITALIAN_ORDER = r"""(?:usa|usate|scrivi|scrivete|rispondi|rispondete|parla|parlate|chiama(?:mi)?|dammi|metti|includi
    |cita|proponi)"""
_ITALIAN_PLEASE = r"(?:per\ favore[,\s]+|ti\ prego[,\s]+)?"
_ITALIAN = (
    rf"^{_ITALIAN_PLEASE}non\ (?:mi\ |lo\ |la\ )?\w+(?:are|ere|ire|[aei]r(?:lo|la|li|le|mi|ti|ci|vi|ne|si))\b",
    rf"^{_ITALIAN_PLEASE}{_ITALIAN_ORDER}\b.*\b(?:sempre|mai|solo|soltanto|unicamente|esclusivamente)\b",
    rf"^{_ITALIAN_PLEASE}(?:sempre|mai|solo)\ (?:\w+(?:are|ere|ire)|{_ITALIAN_ORDER})\b",
    r"""\b(?:d'ora\ in\ (?:poi|avanti)|da\ ora\ in\ (?:poi|avanti)|da\ adesso\ in\ poi|in\ nessun\ caso)\b
        (?!,?\s+(?:io|vivo|lavoro)\b)""",
    r"\bnon\ (?:devi|deve|dovete)\b|\b(?:devi|dovete)\ (?:sempre|solo)\b",
)

_PORTUGUESE_DO = r"""(?:uses?|utilizes?|utilize|apagues?|apague|respondas?|responda|escrevas?|escreva|menciones?
    |mencione|toques?|toque|digas?|diga|faças?|faça|fales?|fale|mudes?|mude|envies?|envie|compres?|compre|inventes?|invente|chame
    |chames|inclua|inclui|coloque|pergunte|cite)"""
_PORTUGUESE_PLEASE = r"(?:por\ favor[,\s]+)?"
_PORTUGUESE = (
    rf"""^{_PORTUGUESE_PLEASE}(?:não|nunca|jamais|sempre|só|somente|apenas)\ (?:(?:me|o|a|os|as|lhe)\ )?
        {_PORTUGUESE_DO}\b""",
    rf"^{_PORTUGUESE_PLEASE}{_PORTUGUESE_DO}\b.*\b(?:sempre|nunca|somente|apenas|só)\b",
    r"""\b(?:a\ partir\ de\ agora|de\ agora\ em\ diante|daqui\ (?:em|para)\ (?:diante|a\ frente)|em\ hipótese\ alguma
        |em\ nenhuma\ circunstância)\b(?!,?\s+(?:eu|vou|vamos|moro|trabalho)\b)""",
    r"\b(?:nunca\ dev[ea]s?|não\ (?:deves?|podes?))\b|\b(?:sempre\ deves?|deves?\ sempre|tem\ que\ sempre)\b",
)

_CHINESE_START = (
    r"(?:^|[,,。:：;；、])\s*(?:请|請|麻烦|你|您|请你|请您|那)?(?:以后|今后|之后|千万|务必|一定)?"
)
_CHINESE = (
    rf"{_CHINESE_START}(?:不要|[别別](?![人的处處墅])|不准|禁止|严禁|切勿|不得|不许|绝不要|绝对不要|永远不要|千万别|千万不要|绝不能|绝对不能)(?!是)",
    rf"{_CHINESE_START}(?:必须|必須|务必|始终|永远|一律|总是|一定要)(?:要)?(?:用|以|使用|回答|回复|保持|先|按|把|给|写)",
    r"^(?:请|請|你|您)?只(?:能|可以|许|准|要用|用|使用|推荐|回答)",
    r"(?:从现在(?:开始|起)|從現在(?:開始|起)|今后|以后)[,,]?\s*(?:请|請|你|都|不要|别|只|必须|一律|回答|用)",
)

_JAPANESE_ORDER = (
    r"(?:ください|下さい|[るうくすつぬぶむぐい]こと|お願いします|お願い|ないで|禁止|するな|してね)[。！!ね]*$"
)
_JAPANESE = (
    rf"(?:必ず|絶対に?|常に|今後は?|これから(?:は|も)|以後|毎回|いつも|決して|二度と|だけ|のみ).*{_JAPANESE_ORDER}",
    r"(?:ないで(?:ください|下さい|くれ|ね)?|禁止(?:です|とします)?|て(?:は|はなら|はいけ)(?:いけません|いけない|なりません|ならない))[。！!]*$",
)

_RULES = tuple(
    map(
        _pattern,
        (*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH, *_ITALIAN, *_PORTUGUESE, *_CHINESE, *_JAPANESE),
    )
)
