"""The sentence forms that count as a statement worth keeping: a table; the first that matches a clause wins.

A pattern has to match the whole clause, so an unforeseen word means no match rather than a misreading. Keys
are templates over the pattern's named groups; a form has a key only where a person has one value at a time,
so that a later statement replaces the earlier one.
"""

from memoryapp.llm.offline.denials import CORRECTIONS, DENIALS
from memoryapp.llm.offline.family import FAMILY
from memoryapp.llm.offline.german import GERMAN
from memoryapp.llm.offline.particulars import ATTRIBUTE_FORMS, CONTACT_FORMS
from memoryapp.llm.offline.vocabulary import (
    CAPITAL,
    DATED,
    DEMONYM,
    DIET,
    DOCUMENT,
    EAT,
    EVENT,
    FOOD,
    FORBIDDEN,
    HABIT,
    INSTRUCTION,
    JOB,
    LASTING,
    MEDICINE,
    MILESTONE,
    NAME,
    NO_POINTER,
    NOT_A_HOME,
    NOT_A_NAME,
    NOT_A_PLACE,
    NUMBER,
    OBJECT,
    ON_A_DAY,
    PLACE_TAIL,
    SICKNESS,
    STATUS,
    TAIL,
    WE_HAVE,
    WHEN,
    either,
    form,
)

_ADVERBS = "(?:(?:really|also|still|just|currently|now|very|severely|highly|mildly|recently|always|mostly) )*"
_I_AM = rf"I(?:'m| am) {_ADVERBS}"
_I_HAVE_BEEN = "I(?:'ve| have) (?:always )?been "
_I_HAVE = rf"I(?: have|'ve got| have got) {_ADVERBS}"
_NEVER = "(?:don't|do not|never|no longer)"
_KINDS = "(?:any )?(?:(?:raw|cooked|smoked|white|red|green|black|dark|dried|soft|hard|fresh|cow's|goat's) )?"
# Several at once: "nuts, eggs or fish".
_SUBSTANCES = rf"{_KINDS}{{0}}(?:(?:,|,? or|,? and) {_KINDS}{{0}})*"
# To the end of the sentence, but for a reason that lasts: what else goes on may make it a plan, a place or a doubt.
_FOR_LIFE = (
    r"(?: any ?more| any longer| at all| ever)?"
    r"(?:(?:,|,? because|,? since|,? as) (?:I(?:'m| am| have|'ve got)|it|they) (?!.*\b(?:not|n't|no|never)\b)"
    r"(?:[\w'-]+ ){0,3}?(?:allergic|intolerant|allergy|intolerance|diabetic|diabetes|coeliac|celiac|vegan|vegetarian"
    r"|muslim|jewish|hindu|gives? me|makes? me)\b.*)?"
)
_LIKES = "(?:like|love|enjoy|adore|hate|dislike|detest|loathe)"
# "The sea" is a taste, "the theme of love" is something just talked about.
_NOT_THIS_ONE = r"(?!the (?-i:[a-z])\S* )"
_INSTEAD = "(?: instead| from now on| and not .+)?"
_STANDING = "(?:From now on|Going forward|In (?:the )?future)"
_BUSINESS = either(
    "bakery,shop,store,company,business,restaurant,caf[eé],bar,farm,studio,agency,start-?up,practice,hotel,hostel,"
    "gallery,bookshop,salon,brewery,garage,workshop,consultancy"
)
_PASTIME = either(
    "piano,guitar,violin,cello,drums,flute,bass,saxophone,trumpet,ukulele,clarinet,harp,chess,tennis,football,soccer,"
    "basketball,volleyball,badminton,golf,hockey,rugby,cricket,squash,table tennis,bridge,poker,padel"
)

_INTEND = (
    "(?:(?:I'm|I am|We're|We are)(?: (?:still|now|currently|also))? (?:planning|going) to"
    "|(?:I|We)(?: (?:still|now|also|really))? (?:plan|want|intend) to)"
)
# What is planned for life holds without a day, too.
_AIM = (
    rf"(?:get married|retire|change jobs|quit my job|learn {CAPITAL}|have (?:a baby|children|kids)"
    rf"|buy an? (?:\w+ )?(?:car|house|flat|apartment|bike|boat)"
    rf"|(?:open|start) (?:an?|my own) (?:[\w-]+ ){{0,2}}?{_BUSINESS}"
    rf"|(?:run|finish|complete|pass) (?:an?|the|my) (?:[\w'-]+ ){{0,2}}?{MILESTONE})\b"
)
_UNDERTAKE = either(
    r"visit,travel,fly,go (?!to (?:bed|sleep)\b)(?:to|on),leave,sell,buy,renovate,celebrate,marry,climb,hike,cycle"
)


_IDENTITY = (
    form(
        "identity",
        rf"My (?:full |first |real )?name(?:'s| is) {NOT_A_NAME}(?:{NAME}|[^\W\d_]+(?<!able)(?<!ant)){TAIL}",
        "name",
    ),
    form(
        "identity",
        rf"(?:You (?:can|may|should) )?(?:just )?call me {NOT_A_NAME}{NAME} instead of .+",
        "name",
    ),
    form(
        "identity",
        rf"(?:You (?:can|may|should) |{_STANDING},? (?:please )?)?(?:just )?call me {NOT_A_NAME}{NAME}{_INSTEAD}{TAIL}",
        "nickname",
    ),
    form(
        "identity",
        rf"(?:I go by|(?:People|(?:My )?friends|Everyone) calls? me) {NOT_A_NAME}{NAME}{TAIL}",
        "nickname",
    ),
    *ATTRIBUTE_FORMS,
    form("identity", rf"I(?: was|'m| am) born (?:on |in )?(?:the )?(?=.*\d)(?=.*{DATED}).+", "birthday"),
    form(
        "identity",
        rf"My (?:birthday|date of birth)(?:'s| is) (?!not?\b|in \d+ |soon|coming)(?=.*{DATED}).+",
        "birthday",
    ),
    form("identity", rf"I was born (?:and raised )?in {NAME}{TAIL}", "birthplace"),
    form("identity", rf"{_I_AM}(?:\d{{1,2}}|1[01]\d)(?: years old)?", "age"),
    form("identity", rf"{_I_AM}(?:half[- ])?{DEMONYM}", "nationality"),
    form(
        "identity",
        rf"I(?:'m| am| come| originally come| am originally) from (?:the )?{NAME}{PLACE_TAIL}",
        "origin",
    ),
    form(
        "identity", rf"(?:I|We) {_ADVERBS}(?:live|reside) in {NOT_A_HOME}(?:the )?{NAME}{PLACE_TAIL}", "city"
    ),
    form("identity", rf"{_I_AM}(?:living|based) in {NOT_A_HOME}(?:the )?{NAME}{PLACE_TAIL}", "city"),
    form(
        "identity",
        rf"(?:(?:Last \w+|Yesterday|Today|In \w+),? )?(?:I|We)(?:'ve| have)? (?:just |recently |now )?"
        rf"(?:moved|relocated) (?:from {NAME} )?to {NOT_A_PLACE}(?:the )?{NAME}{PLACE_TAIL}",
        "city",
    ),
    form("identity", r"(?:I|We) live (?:alone|(?:together )?with (?:my|our) .+)", "household"),
    form("identity", r"My time ?zone(?:'s| is) (?!not?\b).+", "time_zone"),
    form(
        "identity",
        r"I(?:'m| am) (?:in|on) (?:the )?(?:(?:UTC|GMT) ?[+-]?\d{1,2}(?::\d\d)?|(?-i:[A-Z]{2,4}T|UTC"
        r"|Eastern|Pacific|Central|Mountain|Atlantic) time(?: ?zone)?)",
        "time_zone",
    ),
    form(
        "identity",
        rf"I {_ADVERBS}work (?:at|for) (?!the (?:moment|same|time))(?:(?:an?|the) "
        rf"[\w-].*|{CAPITAL}(?: .+)?){TAIL}",
        "employer",
    ),
    form(
        "identity",
        rf"I(?:'ve| have)? (?:just |recently )?(?:started (?:working |a (?:new )?job )?at"
        rf"|got a (?:new )?job (?:at|with)) {NAME}{PLACE_TAIL}",
        "employer",
    ),
    # A club, a course or an employer.
    form("identity", rf"I(?:'ve| have)? (?:just |recently )?joined {NAME}{PLACE_TAIL}"),
    form("identity", rf"I {_ADVERBS}work as (?:an?|the) .+", "occupation"),
    form(
        "identity",
        rf"{_I_AM}(?:an?|the) (?:(?!bad |good |terrible |great )[\w-]+ ){{0,3}}?{JOB}(?: (?:at|in|for"
        rf"|from|by|with|and) .+)?{TAIL}",
        "occupation",
    ),
    form("identity", rf"{_I_AM}(?:retired|self-employed|unemployed)", "occupation"),
    form(
        "identity",
        rf"{_I_HAVE_BEEN}(?:working as )?an? (?:[\w-]+ ){{0,3}}?{JOB}(?: .+)? (?:since|for) .+",
        "occupation",
    ),
    form(
        "identity",
        r"I (?:mostly |usually )?work (?:from home|remotely|part[- ]time|full[- ]time|nights?)(?: .+)?",
        "work.mode",
    ),
    form("identity", rf"I(?: {_ADVERBS}(?:study|major in)|(?:'m| am) studying) (?:at )?{OBJECT}", "studies"),
    form(
        "identity",
        rf"I (?:also )?speak (?:fluent |some |a little )?{CAPITAL}(?:(?:, and|,| and) (?:some |a little "
        rf")?{CAPITAL})*(?: fluently)?",
    ),
    form("identity", rf"I(?:'m| am) (?:called|named) {NOT_A_NAME}{NAME}{TAIL}", "name"),
    form("identity", rf"I(?:'ve| have) (?:lived|been living) in (?:the )?{NAME} (?:since|for) .+", "city"),
    form("identity", rf"I grew up in {NAME}{TAIL}", "home_town"),
    form("identity", rf"I(?:'m| am) working as (?:an?|the) .*\b{JOB}\b.*", "occupation"),
    form(
        "identity",
        rf"I(?: own|'m running| run| have) (?:an?|my own) (?:[\w-]+ ){{0,2}}?{_BUSINESS}{PLACE_TAIL}",
        "business",
    ),
    form("identity", rf"I teach (?!you\b|him\b|her\b|them\b|myself\b|that\b){NO_POINTER}.+", "occupation"),
    form(
        "identity",
        r"I(?:'ve| have)? (?:just |recently )?retired(?: (?:last|this|in|from|two|a|at) .+)?",
        "occupation",
    ),
    form("identity", r"I(?:'m| am) (?:left-handed|right-handed|ambidextrous)", "handedness"),
    form("identity", r"I wear (?:glasses|contact lenses|contacts|hearing aids|a hearing aid)"),
    form("identity", rf"I drive an? (?:\w+ )?{CAPITAL}(?: {CAPITAL})?", "car"),
)

_CONSTRAINTS = (
    form("constraint", rf"(?:never|do not|don't) (?:ever )?call me {NOT_A_NAME}{NAME}"),
    form("constraint", rf"(?:{_I_AM}|{_I_HAVE_BEEN})(?:allergic|intolerant) to {OBJECT}"),
    form("constraint", rf"{_I_HAVE}an? (?:[\w-]+ ){{0,3}}(?:allergy|intolerance)(?: to {OBJECT})?"),
    form(
        "constraint",
        rf"(?:{_I_AM}|I (?:became|turned|went|have gone) |I've (?:become|turned|gone) "
        rf")(?:an? )?(?:strict |lifelong )?{DIET}(?: now| again)?{TAIL}",
        "diet",
    ),
    form(
        "constraint",
        rf"{_I_HAVE_BEEN}(?:an? )?(?:strict |lifelong )?{DIET}(?: (?:since|for|all) .+)?{TAIL}",
        "diet",
    ),
    form(
        "constraint",
        r"I (?:keep|eat|only eat) (?:kosher|halal|vegetarian|vegan|gluten[- ]free)(?: food| meat)?",
    ),
    form("constraint", rf"I {EAT} no (?!more\b|longer\b){OBJECT}"),
    form("constraint", r"I(?:(?:'m| am) (?:on|following)| follow) an? (?:[\w-]+ )?[\w-]+ diet"),
    form(
        "constraint",
        rf"I (?:{_NEVER}|only) {EAT} (?!breakfast|lunch|dinner|enough|an?\b|another\b|the\b|much|at\b|when\b){LASTING}"
        rf"{OBJECT}",
    ),
    form("constraint", rf"I{FORBIDDEN} (?:{EAT}|drink|have) {_SUBSTANCES.format(FOOD)}{_FOR_LIFE}"),
    form("constraint", rf"I{FORBIDDEN} (?:have|take) {_SUBSTANCES.format(MEDICINE)}{_FOR_LIFE}"),
    form(
        "constraint",
        rf"I (?:avoid|have to avoid|must avoid) (?!a\b|the\b|be(?:en|ing)\b|\w+ed\b){LASTING}{OBJECT}",
    ),
    form(
        "constraint",
        rf"I(?! may){FORBIDDEN} (?:drive|swim|fly|smoke|run|climb stairs|ride a bike|lift (?:heavy )?{NO_POINTER}\w+)"
        r"(?: at night)?",
    ),
    form(
        "constraint",
        rf"{_I_HAVE}(?:type [12] )?(?:diabetes|asthma|coeliac disease|celiac disease|epilepsy|high "
        rf"blood pressure|migraines"
        r"|hay fever|vertigo|arthritis|a pacemaker|ADHD|dyslexia)",
    ),
    form("constraint", rf"{_I_AM}(?:an? )?{SICKNESS}{TAIL}"),
    form("constraint", r"I use an? (?:wheelchair|hearing aid|walking stick|screen reader)"),
    form("constraint", r"My budget(?: for .+?)? is .*\d.*"),
    form(
        "constraint",
        rf"(?:{_STANDING},? (?:please )?(?:only |always )?|(?:always|only) )(?:answer|reply|respond"
        rf"|speak|write|talk)(?: to me)? (?:only )?in {CAPITAL}",
        "reply.language",
    ),
    form("constraint", rf"{_STANDING},? (?:please )?{NO_POINTER}\w+ .+"),
    form("constraint", rf"(?:always|never) {INSTRUCTION} (?!up\b){NO_POINTER}.+"),
)

_NO_LONGER_SO = (
    r"no longer|no more|any ?more|not (?!\w*\d)\w+|\w+n't|invalid|void|expired|cancell?ed|outdated|obsolete|wrong"
    "|incorrect|replaced|old one|used up|until"
)

_TICKETS = (
    form(
        "ticket",
        rf"(?:My |The |Our )?(?P<document>{DOCUMENT}) {NUMBER} (?:is|was|has|has been) {STATUS}(?: .+)?",
        "{document}.{number}.status",
    ),
    form(
        "ticket",
        rf"(?:My|The|Our) (?:\w+ ){{0,2}}?{DOCUMENT}(?: (?:number|no\.?|id|code|reference))?(?: for "
        rf".+?)? is {NUMBER}(?!.*\b(?:{_NO_LONGER_SO})\b)(?: for (?:an?|the|my|our|some) .+)?{TAIL}",
    ),
    form(
        "ticket", rf"(?:My|The|Our) (?:\w+ )?(?:flight|reference|confirmation) (?:number|code|id) is {NUMBER}"
    ),
    form("ticket", rf"(?:My |The |Our )?{DOCUMENT} {NUMBER} (?:is|was) (?:about|for|from) {OBJECT}"),
)

_DECISIONS = (
    form(
        "decision",
        r"(?:We|I)(?:'ve| have)? (?:finally |just |already |now )?(?:decided|agreed|opted|settled|resolved) "
        rf"(?:not to|to|on|that|against|for|in favou?r of) {NO_POINTER}(?!do (?:it|this|that|so)\b).+",
    ),
    form(
        "decision",
        rf"(?:We|I)(?:'ve| have)? (?:finally |just |already )?(?:chose|chosen|picked) (?:{CAPITAL}(?: "
        rf".+)?|{NO_POINTER}.+ over .+)",
    ),
    form("decision", rf"(?:We're|We are|I'm|I am) going with {OBJECT}"),
    form("decision", r"(?:The|Our|My) (?:final )?decision is (?:to|that) .+"),
)

# Without a time an event is chatter.
_EVENTS = (
    form(
        "event",
        rf"(?:My|Our|The) (?:[\w'-]+ ){{0,2}}?{EVENT}(?: (?:with|to|at|for|in|from) .+?)? (?:is|are"
        rf"|starts|leaves|departs|begins|takes place|was moved to) (?!not\b)(?=.*{WHEN}).+",
    ),
    form("event", rf"(?=.*{WHEN})(?:{ON_A_DAY},? )?{WE_HAVE} (?:an?|my|our) (?:[\w'-]+ ){{0,2}}?{EVENT}\b.*"),
    form(
        "event",
        rf"(?=.*{WHEN})(?:{ON_A_DAY},? )?(?:I'm|I am|We're|We are) (?:getting married|flying"
        rf"|travell?ing|moving|leaving|visiting|meeting|seeing (?:the|my|a)|going (?:to|on)"
        rf"|starting (?:a|my|at)|having (?:surgery|dinner|lunch)) {NO_POINTER}.*",
    ),
    form(
        "event",
        rf"{_INTEND} (?:move|relocate|emigrate) (?:back )?to {NOT_A_PLACE}(?:the )?{NAME}"
        rf"(?: (?:next|soon|by|before|after|some ?day)\b.*|{PLACE_TAIL})",
    ),
    form("event", rf"{_INTEND} {_AIM}(?: .+)?{TAIL}"),
    form("event", rf"(?=.*{WHEN}){_INTEND} {_UNDERTAKE} {NO_POINTER}.+"),
    form(
        "event",
        rf"(?:(?:Yesterday|Today|Last \w+|On \w+),? )?(?:I|We) (?:got married|adopted|graduated|broke "
        rf"my|bought an? (?:car|house|flat)|ran (?:a|the)|visited|met with|had (?:surgery|a baby)) ?{NO_POINTER}.*",
    ),
    form(
        "event",
        rf"(?:(?:Yesterday|Today|Last \w+|On \w+|This \w+),? )?(?:I|We)(?:'ve| have)?(?: just| finally)? (?:ran|run|won"
        rf"|finished|completed|passed|failed|submitted|published|celebrated|signed|had|started) (?:an?|the|my|our) "
        rf"(?:[\w'-]+ ){{0,2}}?{MILESTONE}\b.*",
    ),
    form("event", rf"(?:My|Our|The) (?:[\w'-]+ ){{1,3}}?(?:is|are) due (?=.*{WHEN}).+"),
    form("event", rf"(?:My|Our) (?:[\w'-]+ ){{1,3}}?(?:expires?|ends?|runs? out|renews?) (?=.*{WHEN}).+"),
    form("event", rf"I(?:'m turning| turn|'ll turn| will turn) \d{{1,3}} (?=.*{WHEN}).+"),
    form("event", r"(?:Yesterday|Today|Last \w+)?,? ?I (?:quit|lost|left) my job(?: .+)?"),
)

_SESSION = (
    form(
        "session",
        r"(?:(?:Today|Right now|Currently|At the moment|This (?:morning|afternoon|evening|week)),? "
        r"I(?:'m| am)"
        rf"|I(?:'m| am) (?:currently|now)) "
        rf"{either('working on,writing,debugging,preparing,planning,editing,testing,building')} {OBJECT}",
    ),
)

_PREFERENCES = (
    form(
        "preference",
        rf"My (?:absolute |all-time )?(?:favou?rite|preferred) (?P<object>[\w -]+?) (?:is|are) "
        rf"(?!not?\b|no longer\b){NO_POINTER}.+",
        "favorite.{object}",
    ),
    form(
        "preference",
        r"[\w '-]+? (?:is|are) my (?:absolute |all-time )?favou?rite (?P<object>[\w -]+)(?<! one)",
        "favorite.{object}",
    ),
    form(
        "preference",
        rf"I only drink (?!.*\b(?:when|after|before|at|on|in|with|during|for)\b){NO_POINTER}.+",
        "drink.preference",
    ),
    form(
        "preference",
        rf"I (?:only|always|never|usually|normally|typically|mostly|rarely|hardly ever|no longer|don't"
        rf"|do not) {HABIT}(?: {NO_POINTER}{LASTING}.+)?",
    ),
    form(
        "preference",
        r"(?:When(?:ever)? I|On|In the|At|For|During|Before|After|Every)\b[^,]{1,50}?,? I (?:(?:only"
        r"|always|never|usually|prefer to"
        rf"|like to) {HABIT}|prefer|drink|eat|go running|swim|cycle|work from home)\b(?! (?:it|that"
        rf"|this)\b).*",
    ),
    form(
        "preference",
        rf"I {_ADVERBS}(?:{_LIKES}|can't stand|cannot stand|can't bear|(?:don't|do not|no longer) "
        rf"(?:really )?{_LIKES}) {_NOT_THIS_ONE}{OBJECT}",
        "taste.{object}",
    ),
    form("preference", rf"I {_ADVERBS}prefer {OBJECT}"),
    form(
        "preference",
        rf"{_I_AM}(?:(?:big|huge) )?(?:into|fond of|interested in|keen on|obsessed with|afraid of"
        rf"|scared of|terrified of) {OBJECT}",
    ),
    form("preference", rf"{_I_AM}an? (?:(?:big|huge|lifelong) )?(?:fan|lover) of {OBJECT}"),
    form(
        "preference",
        rf"{_I_AM}an? (?:[\w-]+ )?(?:morning person|night owl|early bird|cat person|dog person|tea "
        rf"person|coffee person)",
    ),
    form("preference", rf"I(?:'m| am) (?:learning|teaching myself) {OBJECT}"),
    form("preference", rf"I play (?:the )?{_PASTIME}(?: .+)?"),
    form("preference", rf"I use {NOT_A_NAME}{CAPITAL}(?: {CAPITAL})*(?: (?:for|on|at|as|every) .+)?"),
)

# Last, because a capital after "I'm" is the weakest sign of a name.
_INTRODUCTION = form(
    "identity",
    rf"(?:I'm|I am) {NOT_A_NAME}(?!{DEMONYM})(?-i:(?=[^\W\d_]\w*[a-z]|[^\x00-\x7f])){NAME}(?: from "
    rf"(?:the )?{NAME})?{TAIL}",
    "name",
)

FORMS = (
    *DENIALS,
    *CORRECTIONS,
    *_IDENTITY,
    *FAMILY,
    *CONTACT_FORMS,
    *_CONSTRAINTS,
    *_TICKETS,
    *_DECISIONS,
    *_EVENTS,
    *_SESSION,
    *_PREFERENCES,
    *GERMAN,
    _INTRODUCTION,
)
