"""The word lists and small patterns that the sentence forms are made of.

They are matched, ignoring case, against text whose spaces are single and whose apostrophes are straight.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """A way of saying something worth keeping. ``key`` is a template over the pattern's named groups."""

    kind: str
    pattern: re.Pattern[str]
    key: str


def form(kind: str, pattern: str, key: str = "") -> Form:
    return Form(kind, re.compile(pattern, re.IGNORECASE), key)


def either(words: str) -> str:
    """A group that matches any one of the words, which commas separate."""
    return "(?:" + "|".join(word.strip() for word in words.split(",")) + ")"


MONTH = either(
    "jan(?:uary)?,feb(?:ruary)?,mar(?:ch)?,apr(?:il)?,may,june?,july?,aug(?:ust)?,sept?(?:ember)?,"
    "oct(?:ober)?,nov(?:ember)?,dec(?:ember)?"
)
GERMAN_MONTH = (
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
DATED = rf"(?:\d{{4}}|\d[./-]\d|\b{MONTH}\b)"
# What pins an event to the calendar.
WHEN = (
    r"(?:\b(?:today|tonight|tomorrow|yesterday"
    rf"|(?:next|this|last|coming) (?:week|weekend|month|year|spring|summer|autumn|fall|winter|{WEEKDAY}"
    rf"|{MONTH})|{WEEKDAY}s?|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH}|{MONTH} \d{{1,2}}|in {MONTH}"
    rf"|in \d{{4}}|\d{{1,2}}\. {GERMAN_MONTH}|übermorgen|um \d{{1,2}}(?:[:.]\d\d)? uhr"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|at \d{1,2}(?:[:.]\d\d)?|\d{1,2} ?[ap]m|in an? "
    r"(?:week|month)|in (?:\d+|two|three|four|a few) (?:days|weeks|months))\b)"
)

# What may stand before who does something then.
ON_A_DAY = (
    rf"(?:(?:on|next|this|last) {WEEKDAY}|(?:next|last) (?:week|weekend|month|year)|on \d{{1,2}}(?:st|nd|rd|th)? "
    rf"(?:of )?{MONTH}|on {MONTH} \d{{1,2}}|today|tonight|tomorrow|yesterday)"
)

# Objects that mean something only inside this conversation, or are none at all.
_POINTERS = either(
    "it,this,that,these,those,them,him,her,us,you,your,yours,yourself,myself,my life,how,what,when,"
    "where,why,who,which,whatever,everything,nothing,anything,something,so,too,both,neither,either,some,"
    "any,all,ones?,if,seeing,hearing,talking,option,number,each,same,and,or,but,to$,lots,an? (?:lot|ton"
    "|bunch)"
)
_POINTERS_THE = either(
    "first,second,third,last,latter,former,others?,idea,way,sound,look,thought,answer,result,suggestion,"
    "fact,one,rest,previous,above,new,same,following"
)
_POINTERS_TO = either(
    "know,see,hear,think,understand,ask,say,admit,thank,help,be,bother,interrupt,point,talk about,do "
    "(?:it|this|that),have (?:you|it|that|this),learn more,read more,try,use (?:it|this|that)"
)
NO_POINTER = rf"(?!(?:{_POINTERS}|the {_POINTERS_THE}|the [\w-]+ ones?|to {_POINTERS_TO})\b)"
OBJECT = rf"{NO_POINTER}(?P<object>\w.*)"

_LETTERS_OF_A_NAME = r"[\w'.-]*"
# Capitals are what tells "I'm Ana" from "I'm tired"; letters without case (李雷) count as capitals.
CAPITAL = rf"(?-i:(?![a-zß-öø-ÿ])[^\W\d_]{_LETTERS_OF_A_NAME})"
PARTICLES = "(?:(?:de|da|do|dos|das|van|von|der|den|di|la|le|el|bin|al|of|the) ){0,2}"
NAME = rf"{CAPITAL}(?: {PARTICLES}{CAPITAL}){{0,3}}"
TAIL = r"(?:\s*[,;(–—].*)?"
PLACE_TAIL = (
    r"(?:,? (?:with|near|since|for|now|because|at the moment|these days|in|close|next to|from|on|last"
    rf"|this|two|three|a|(?:\w+ ){{1,2}}ago|yesterday|today|as|\d)\b.*)?{TAIL}"
)

NOT_A_NAME = (
    rf"(?!(?:{WEEKDAY}|{MONTH}|"
    + either(
        "back,later,maybe,crazy,ok,okay,fine,done,sorry,happy,sad,here,there,ready,good,great,tired,"
        "lost,confused,sure,new,hungry,busy,sick,ill,glad,afraid,curious,stuck,bored,excited,interested,"
        "vegetarian,vegan,pescatarian,christian,muslim,jewish,hindu,buddhist,catholic,atheist,not,in,at,"
        "on,from,a,an,the,i,so,just,very,really,also,still,only,all,about,no,yes,well,batman,santa,old,"
        "young,single,married,home,alone,free,late,early,after,before,when,if,team,[a-z]+ing,[a-z]+less"
    )
    + r")\b)"
)
DEMONYM = (
    "(?-i:"
    + either(
        "American,Argentinian,Australian,Austrian,Belgian,Brazilian,British,Bulgarian,Canadian,Chilean,"
        "Chinese,Colombian,Croatian,Czech,Danish,Dutch,Egyptian,English,Estonian,Filipino,Finnish,"
        "French,German,Greek,Hungarian,Icelandic,Indian,Indonesian,Iranian,Irish,Israeli,Italian,"
        "Japanese,Kenyan,Korean,Latvian,Lithuanian,Mexican,Moroccan,Nigerian,Norwegian,Pakistani,"
        "Peruvian,Polish,Portuguese,Romanian,Russian,Scottish,Serbian,Slovak,Slovenian,Spanish,Swedish,"
        "Swiss,Taiwanese,Thai,Turkish,Ukrainian,Vietnamese,Welsh,European,African,Asian"
    )
    + r"\b)"
)
# People move to these too, but do not live there.
NOT_A_PLACE = (
    "(?!(?-i:"
    + either(
        r"Linux,Windows,Mac,MacOS,Android,Postgres\w*,MySQL,Python,Django,Rust,Vim,Emacs,Git\w*,"
        r"Kubernetes,Docker,AWS,Azure,Slack,Teams,Chapter,Step,Plan,Part,Page,Java\w*,React,Claude,"
        r"Chrome,Firefox"
    )
    + r")\b)"
)
# Nor in these, whatever their first letter.
NOT_A_HOME = (
    r"(?!(?:"
    + either(
        "fear,hope,peace,denial,poverty,luxury,style,harmony,exile,sin,shame,silence,pain,misery,hell,heaven,paradise,"
        "darkness,chaos,comfort,solitude,limbo,terror,doubt,despair,freedom,sadness,anger,dreams"
    )
    + r")\b)"
)
JOB = either(
    "accountant,actor,actress,administrator,advisor,adviser,analyst,archaeologist,architect,artist,"
    "astronomer,athlete,attorney,author,baker,banker,barber,barista,bartender,biologist,bookkeeper,"
    "bricklayer,builder,butcher,carer,caregiver,carpenter,cashier,chef,chemist,civil servant,clerk,"
    "coach,composer,consultant,cook,counsell?or,dancer,dentist,designer,developer,diplomat,director,"
    "doctor,driver,economist,editor,electrician,engineer,farmer,firefighter,fisherman,florist,"
    "freelancer,gardener,geologist,hairdresser,historian,illustrator,interpreter,investor,janitor,"
    "journalist,judge,lawyer,lecturer,librarian,linguist,manager,mathematician,mechanic,midwife,"
    "musician,nurse,nutritionist,optician,painter,paramedic,pastor,pharmacist,photographer,physician,"
    "physicist,pilot,plumber,poet,police officer,postman,professor,programmer,psychologist,psychiatrist,"
    "realtor,receptionist,researcher,sailor,scientist,secretary,security guard,singer,social worker,"
    "soldier,solicitor,statistician,student,surgeon,surveyor,tailor,teacher,technician,therapist,"
    "translator,tutor,vet,veterinarian,waiter,waitress,welder,writer"
)
# Of whom a person has one at a time.
ONLY_ONE = either("wife,husband,partner,spouse,girlfriend,boyfriend,fiancée?,mother,mum,mom,father,dad")
_ONE_OF_SEVERAL = either(
    "sister,brother,son,daughter,grandmother,grandfather,grandma,grandpa,aunt,uncle,cousin,niece,nephew,best friend"
)
RELATIVE = f"(?:{ONLY_ONE}|{_ONE_OF_SEVERAL})"
# "My boss is Evil": these need to be called or named something.
SUPERIOR = either("boss,manager,landlord,landlady")
ACQUAINTANCE = f"(?:{SUPERIOR}|{either('roommate,flatmate,dentist,doctor,therapist,teacher,neighbou?r')})"
# Known by name alone: "my neighbour" may be anybody.
FRIEND = either("friend,colleague,co-?worker,neighbou?r,roommate,flatmate,classmate")
PET = either(
    "dog,cat,puppy,kitten,rabbit,hamster,parrot,horse,pony,turtle,tortoise,goldfish,bird,budgie,canary,"
    "snake,lizard,guinea pig,ferret"
)
WE_HAVE = "(?:I|We)(?: have|'ve got| have got| own)"
CALLED = r"(?:'s name is|'s called|'s named| is called| is named|,? called|,? named)"
CHANNEL = either(
    "e-?mail,phone,telephone,sms,text(?: messages?)?,whatsapp,signal,telegram,slack,letter,post,video call"
)
COLOUR = "(?:(?:dark|light|bright) )?" + either(
    "red,blue,green,yellow,black,white,gr[ea]y,silver,orange,brown,purple,pink,beige,gold"
)
DIET = either("vegetarian,vegan,pescatarian,flexitarian")
SICKNESS = either(
    "diabetic,coeliac,celiac,epileptic,asthmatic,pregnant,colou?r[- ]?blind,deaf,blind,dyslexic,"
    "lactose[- ]intolerant,gluten[- ]intolerant"
)
EAT = "(?:eat|touch|consume|digest|tolerate)"
FORBIDDEN = (
    r"(?: may not| can't| cannot| can not| must not| mustn't| should not| shouldn't"
    r"|(?:'m| am) (?:not|no longer) (?:really )?(?:allowed|permitted|supposed) to|(?:'m| am) forbidden to)(?: ever)?"
)
# A word of a day makes it a plan, and "yet" a stage: neither lasts.
LASTING = (
    r"(?!.*\b(?:right now|today|tonight|tomorrow|until|yet"
    rf"|(?:this|next) (?:morning|afternoon|evening|week|weekend|month|year|summer|winter|time|{WEEKDAY}))\b)"
    r"(?!now$|my (?:breakfast|lunch|dinner|supper|food)\b)"
)
MEDICINE = either(
    "aspirin,ibuprofen,ketoprofen,naproxen,diclofenac,paracetamol,acetaminophen,codeine,morphine,tramadol,opioids,"
    "antibiotics,penicillin,amoxicillin,ampicillin,erythromycin,clarithromycin,azithromycin,clindamycin,doxycycline,"
    "sulfonamides,statins?,simvastatin,atorvastatin,rosuvastatin,pravastatin,cortisone,prednisone,antihistamines,iodine"
)
# What people may be forbidden; "time", "it any more" and "the cake" are something else.
FOOD = either(
    "(?:pea|wal|hazel|chest|coco|cashew |pine |brazil |macadamia |tree )?nuts?,almonds?,cashews?,pistachios?,pecans?,"
    "peanut butter,gluten,dairy,milk,lactose,cheese,butter,cream,yogh?urt,eggs?,seafood,fish,shellfish,crayfish,tuna,"
    "salmon,sardines?,anchov(?:y|ies),shrimps?,prawns?,crabs?,lobsters?,mussels?,oysters?,clams?,squid,octopus,"
    "animal products,meat,pork,ham,bacon,beef,veal,lamb,poultry,chicken,turkey,gelatine?,alcohol,liquor,spirits,wine,"
    "beer,caffeine,coffee,tea,juice,soda,cola,energy drinks,sugar,sweets,sweeteners,aspartame,honey,chocolate,carbs,"
    "carbohydrates,soya?,tofu,wheat,rye,barley,oats,corn,rice,bread,pasta,yeast,sesame,celery,mustard,lupins?,"
    "vegetables,potato(?:es)?,tomato(?:es)?,onions?,garlic,mushrooms?,peppers?,spinach,beans,lentils,peas,chickpeas,"
    "fruit,apples?,pears?,bananas?,kiwis?,mango(?:es|s)?,pineapples?,cherr(?:y|ies),peach(?:es)?,plums?,oranges?,"
    "lemons?,avocados?,grapes?,melons?,strawberr(?:y|ies),raspberr(?:y|ies),grapefruits?,citrus(?: fruits?)?,"
    "(?:spicy|fried|fatty|solid|raw|hot) food,salt,licorice,liquorice,msg,sulphites,sulfites,histamine,fructose"
)
HABIT = either(
    "drink,eat,take,fly,travel,use,wear,work,read,listen,watch,buy,pay,book,sit,sleep,wake,get up,go to,"
    "go for,run,cycle,drive,walk,cook,order,shop,write,speak,play,smoke,exercise,train,meditate,commute,"
    "code,program,prefer,answer,swim,have (?:breakfast|lunch|dinner|coffee|tea),do (?:yoga|sports?)"
)
EVENT = either(
    "appointment,meeting,interview,flight,train,exam,test,wedding,party,concert,conference,holiday,"
    "vacation,trip,surgery,operation,deadline,presentation,class,lesson,course,dinner,lunch,check-?up,"
    "viva,defen[cs]e,graduation,move,reservation,booking,talk,marathon,race,match"
)
MILESTONE = either(
    "marathon,triathlon,race,exam,driving test,thesis,dissertation,degree,phd,master's,apprenticeship,"
    "training,internship,novel,book,contract,championship,tournament,anniversary,graduation,new job,"
    "first job,wedding,operation"
)
DOCUMENT = either("order,ticket,invoice,case,booking,reservation,tracking,parcel,shipment,claim")
NUMBER = r"(?:number |no\.? |id |code )?#?(?P<number>(?=[\w/-]*\d)\w[\w/-]*)"
STATUS = "(?:(?:now|still|already|not|been) )*" + either(
    "(?:un)?paid,open,closed,shipped,delivered,cancell?ed,overdue,pending,(?:un)?resolved,refunded,lost,"
    "due,settled,late"
)
INSTRUCTION = either(
    "answer,reply,respond,use,write,suggest,recommend,address,ask,tell,show,speak,include,mention,send,"
    "book,explain,start,end,quote,offer,schedule"
)
