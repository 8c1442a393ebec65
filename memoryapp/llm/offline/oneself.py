"""Whether a sentence is one in which people speak of themselves, so that they may take it for remembered."""

import re

from memoryapp.llm.offline.vocabulary import either

_FIRST = r"(?:I|I['’](?:m|ve|d|ll)|my|mine|we|we['’](?:re|ve|d|ll)|our)"
_OPENING = (
    r"(?:(?:yesterday|today|tonight|tomorrow|sometimes|usually|unfortunately|sadly|(?:last|next|this|every|on|in|at) "
    r"\w+|since \w+(?: \w+)?),? )?"
)
_GERMAN = r"(?:(?:[^\W_]+[.,]? ){0,4}?(?:ich|mein(?:e[mnrs]?)?|unser(?:e[mnrs]?)?)|mir|mich)"
_TO_BE_KEPT = either(
    "remember,don['’]t forget,keep in mind,bear in mind,note that,merke? dir,vergiss nicht,denke? (?:bitte )?daran"
)
_OF_ONESELF = re.compile(rf"(?:{_OPENING}{_FIRST}|{_TO_BE_KEPT}|{_GERMAN})(?![\w'’])", re.IGNORECASE)

_MOODS = either(
    "fine,good,well,great,ok(?:ay)?,all right,alright,here,back,sorry,done,bored,glad,happy,ready,curious,"
    "testing,trying,kidding,joking,right,wrong,lost,confused,sure,impressed,gut,fertig"
)
_ACKNOWLEDGED = either(
    "see,understand,understood,get it,got it,agree,disagree,know,guess(?: so)?,(?:think|hope|suppose) so,mean it,"
    "(?:love|like|want|hate|did|tried) (?:you|it|that|this),appreciate (?:it|that|this),verstehe,weiß,"
    "have (?:one|any),will,can,could,bet,should (?:stop|start|continue|go on),auch,(?:liebe|hasse|mag) (?:es|das)"
)
# What an assistant makes.
_WORK = either(
    "poem,story,tale,joke,riddle,recipe,song,essay,letter,e-?mail,text,summary,list,translation,idea,suggestion,tip,"
    "recommendation,explanation,example,answer,advice,help,quote,definition,quiz,hint,favou?r,moment,minute,gedicht,"
    "geschichte,märchen,witz,rätsel,rezept,lied,aufsatz,brief,zusammenfassung,liste,übersetzung,idee,vorschlag,"
    "empfehlung,erklärung,beispiel,antwort,auskunft,rat,tipp,hilfe,frage"
)
_WANT = (
    "(?:need|want|like|love|looking for|brauche|möchte|will|hätte|wünsche mir|suche|habe) (?:bitte |gerne? |noch )*"
    rf"(?:(?:an?|some|another|more|your|eine?[nmrs]?|deine?[nmrs]?|etwas) )?(?:\w+ )?{_WORK}"
)
_ASKED_FOR = either(
    "(?:want|need|like|ask|expect) you,need (?:some |your )?help,"
    "(?:want|like) to (?:know|ask|see|talk),have (?:a|another|one more) question,wonder(?:ing)?,thank you,"
    "don['’]t (?:know|understand) (?:what|why|how|whether|if),have no (?:idea|clue|opinion),(?:told|asked) you,said,"
    "hope (?:you|it|this|that),mean (?:the|this|that),danke,frage mich,"
    f"(?:möchte|will|würde gerne?) (?:wissen|fragen|dich),habe keine (?:ahnung|idee),{_WANT}"
)
_HELPERS = either(
    "am,are,was,do,don['’]t,did,didn['’]t,can,can['’]t,will,would,have,not,just,only,really,also,so,very,quite,doing,bin,"
    "already,could"
)
_SMALL_TALK = re.compile(
    rf"(?:I|we|ich)(?:['’]\w+)? (?:{_HELPERS} )*(?:{_ASKED_FOR}\b.*|(?:{_MOODS}|{_ACKNOWLEDGED})"
    r"(?: (?:now|too|again|also|today|then|this|that|it|very much|a lot))*(?:\s*[,.!…:)].*)?)$"
    r"|mir geht(?:['’]s| es) .*|my (?:pleasure|bad|goodness|god|guess|question|point)\b.*|meine frage\b.*"
    r"|(?:zeig|sag|nenn|erzähl|gib|such|find|lies|schreib|schick|erinner)e? (?:bitte |mal )*(?:mir|mich|uns)\b.*",
    re.IGNORECASE,
)


def is_of_oneself(text: str) -> bool:
    """Also what asks for something to be kept; not small talk, nor what asks the assistant for something."""
    return bool(_OF_ONESELF.match(text)) and not _SMALL_TALK.match(text)
