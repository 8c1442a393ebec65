"""Which language a text is in: by its script, then by the small words that every sentence has.

The same small words are what search leaves out: they say how something is said, not what about.
"""

import re
import unicodedata
from collections import Counter
from functools import cache
from typing import Final

DEFAULT: Final = "en"

# ISO 639-1 to Snowball's algorithm (https://snowballstem.org/algorithms); others are searched unstemmed.
SNOWBALL: Final = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}

# Articles, pronouns, prepositions, auxiliaries and question words. English: PostgreSQL's english.stop and
# what questions to an assistant are made of.
_SMALL_WORDS: Final = {
    "en": """i me my myself we our ours ourselves you your yours yourself he him his himself she her hers
        herself it its itself they them their theirs themselves what which who whom whose this that these
        those am is are was were be been being have has had having do does did doing done a an the and but
        if or because as until while of at by for with about against between into through during before
        after above below to from up down in out on off over under again further then once here there when
        where why how all any both each few more most other some such no nor not only own same so than too
        very s t can will just don should now im ive id ill youre hes shes were theyre isnt wasnt didnt dont
        doesnt cant wont would could shall might must also let lets tell please remember know""",
    "es": """el la los las un una unos unas y o pero si de del al a en con por para sin sobre entre desde
        hasta que qué cual cuál cuales cuáles quien quién quienes como cómo cuando cuándo donde dónde cuanto
        cuánto cuánta cuántos cuántas por qué yo tú tu tus mi mis me te se nos os le les lo su sus él ella
        ellos ellas nosotros usted ustedes este esta esto estos estas ese esa eso es son era eran fue ser
        soy eres está están estoy estaba he ha has han había hay muy más no sí ya también porque cuya""",
    "fr": """le la les l un une des du de d et ou mais si que qu qui quoi quel quelle quels quelles dont où
        quand comment pourquoi combien je j tu il elle on nous vous ils elles me m te t se s mon ma mes ton
        ta tes son sa ses notre nos votre vos leur leurs ce c cet cette ces ça est sont était suis es êtes
        être été ai as a avons avez ont avait y en dans sur sous avec sans pour par chez vers à au aux ne n
        pas plus très aussi est-ce""",
    "de": """der die das den dem des ein eine einen einem einer eines und oder aber wenn dass daß ob weil
        als wie was wer wen wem wessen wann wo wohin woher warum welche welcher welches welchen wieviel ich
        du er sie es wir ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine meinen meinem meiner
        dein deine deinen sein seine unser unsere ist sind war waren bin bist sein habe hast hat haben hatte
        wird werden wurde nicht kein keine in im an am auf aus bei beim mit nach von vom vor zu zum zur für
        über unter durch um bis auch noch nur sehr schon so heißt""",
    "it": """il lo la i gli le l un uno una e ed o ma se che chi cosa cui quale quali quando dove come
        perché quanto quanta quanti quante io tu lui lei noi voi loro mi ti si ci vi me te mio mia miei mie
        tuo tua suo sua nostro è sono era erano sei siamo essere stato ho hai ha abbiamo hanno aveva di del
        della dei delle dello d a al alla ai alle da dal dalla in nel nella con su sul sulla per tra fra non
        più molto anche questo questa questi quello quella""",
    "pt": """o a os as um uma uns umas e ou mas se que quem qual quais quando onde como porque por quê
        quanto quanta quantos quantas eu tu você ele ela nós vocês eles elas me te se lhe meu minha meus
        minhas teu tua seu sua seus suas nosso é são era foi ser sou estou está estão estava tenho tem têm
        tinha há de do da dos das em no na nos nas num numa com por pelo pela para sem sobre entre até ao à
        não muito mais também já isso isto este esta esse essa aquele""",
    "nl": """de het een en of maar als dat die dit deze wat wie welke welk wanneer waar hoe waarom hoeveel
        ik jij je hij zij ze wij we jullie u mij me jou hem haar ons hun mijn jouw zijn onze is was waren
        ben bent heb hebt heeft hebben had hadden word wordt werd van in op aan met voor naar door bij uit
        over om tot niet geen ook nog heel er te""",
    "sv": """en ett den det de och eller men om att som vad vem vilken vilket vilka när var hur varför jag
        du han hon vi ni dem mig dig sig oss er min mitt mina din ditt dina sin sitt hans hennes vår är var
        varit vara har hade blir blev i på av till från med för hos vid inte ingen också mycket heter""",
    "da": """en et den det de og eller men om at som hvad hvem hvilken hvilket hvornår hvor hvordan hvorfor
        jeg du han hun vi i dem mig dig sig os min mit mine din dit dine sin sit hans hendes vores er var
        været være har havde bliver blev på af til fra med for hos ved ikke ingen også meget hedder""",
    "no": """en ei et den det de og eller men om at som hva hvem hvilken hvilket når hvor hvordan hvorfor
        jeg du han hun vi dere dem meg deg seg oss min mitt mine din ditt dine sin sitt hans hennes vår er
        var vært være har hadde blir ble på av til fra med for hos ved ikke ingen også mye heter""",
    "fi": """ja tai mutta jos että joka jotka mikä mitä mitkä kuka kenen milloin missä mistä mihin miten
        miksi kuinka minä sinä hän me te he minun sinun hänen meidän minua minulla minulle on ovat oli
        olivat olen olet ole ollut olla ei en et eivät se ne tämä tuo ne myös vain hyvin kun kuin""",
    "pl": """i a ale lub albo że który która które co kto kogo czego kiedy gdzie jak dlaczego ile jaki jaka
        jakie ja ty on ona my wy oni mnie mi ci cię się go jej ich mój moja moje moim twój twoja jest są był
        była było być jestem mam masz ma w we na z ze do od po za przed pod nad o u dla przez nie tak też
        bardzo to ten ta te czy""",
    "cs": """a i ale nebo že který která které co kdo koho kdy kde jak proč kolik jaký jaká jaké já ty on
        ona my vy oni mě mi tě se si ho jí jejich můj moje moje mého tvůj je jsou byl byla bylo být jsem
        mám máš má v ve na z ze do od po za před pod nad o u pro přes ne ano také velmi to ten ta""",
    "ro": """și sau dar dacă că care ce cine când unde cum de cât câți eu tu el ea noi voi ei ele mă te se
        îmi îți meu mea mei mele tău ta său sa este e sunt era fost am ai are avem au un o la în pe cu din
        pentru despre nu mai foarte acest această""",
    "hu": """a az egy és vagy de ha hogy aki ami mi mit ki kit mikor hol hová honnan hogyan miért mennyi
        hány milyen melyik én te ő mi ti ők engem nekem enyém van vannak volt voltak vagyok lenni nem igen
        is csak nagyon ez az ezt azt meg""",
    "tr": """ve veya ama eğer ki ne kim kimin hangi nerede nereye nereden nasıl niçin neden kaç ben sen o biz
        siz onlar beni bana benim senin onun bizim bu şu bir mi mı mu mü için ile gibi kadar daha çok en var
        yok değil da de""",
    "id": """yang dan atau tetapi jika bahwa apa siapa kapan di mana dimana bagaimana mengapa kenapa berapa
        saya aku kamu anda dia kami kita mereka ini itu adalah ada sudah akan tidak bukan juga sangat ke
        dari pada dengan untuk oleh nama""",
    "ca": """el la els les un una i o però si de del al a en amb per sense sobre que què qui quin quina quan
        on com perquè quant jo tu ell ella nosaltres em et es meu meva teu teva seu seva és són era va ser
        soc està estan he ha han hi no molt més també aquest aquesta""",
    "ru": """и или но если что чтобы который которая которые кто кого чего кому когда где куда откуда как
        почему зачем сколько какой какая какие какое я ты он она оно мы вы они меня мне тебя тебе его её ее
        их нас вас себя мой моя моё мое мои моей моего моему твой твоя свой наш ваш это этот эта эти тот
        есть был была было были быть в во на с со к ко по из от до у за о об для при про под над не ни да
        нет же ли бы уже ещё еще тоже очень так""",
    "uk": """і й та або але якщо що щоб який яка які хто кого коли де куди звідки як чому скільки я ти він
        вона ми ви вони мене мені тебе його її їх нас мій моя моє мої твій це цей ця є був була було були в
        у на з із до від за про для під не так ні ж чи вже ще також дуже""",
    "el": """ο η το οι τα του της των τον την και ή αλλά αν ότι που τι ποιος ποια ποιο πότε πού πώς γιατί
        πόσο εγώ εσύ αυτός αυτή αυτό μου σου του με σε από για στο στη στην στον είναι ήταν είμαι έχω έχει
        δεν θα να μας σας τους""",
    "ar": """في من على إلى عن مع هذا هذه ذلك التي الذي ما ماذا من متى أين كيف لماذا كم هل أي أنا أنت هو هي
        نحن هم كان كانت يكون و أو لكن إذا أن إن لا لم لن قد كل بعد قبل""",
    "hi": """का की के को में से पर और या लेकिन अगर कि जो क्या कौन कब कहाँ कैसे क्यों कितना कितने मैं मुझे मेरा मेरी मेरे तुम
        आप वह यह ये वे हम है हैं था थी थे हूँ हो नहीं ने भी तो ही एक""",
    # Where words have no spaces: signs and pairs of signs, as ``policies.terms`` cuts them.
    "zh": """我 你 您 他 她 它 们 我的 你的 的 了 是 吗 呢 吧 啊 在 有 和 与 就 也 都 很 这 那 会 要 把 被 请 着 过 得
        地 个 不 没 什 么 什么 么时 时候 哪 哪里 哪儿 哪个 哪些 怎 怎么 谁 几 多 少 多少 多久 为什 为""",
    "ja": """私 私の 私は 僕 僕の 何 何で です です ます した して いる ある から まで どこ いつ 誰 どの どん んな なぜ
        すか ますか はど どう う""",
}  # fmt: skip

# Greek and Cyrillic still have accents; what comes after in Unicode has marks that make another letter.
_LAST_ACCENTED: Final = "\u052f"

# A run of these has no spaces between words; pairs of neighbours stand in for words.
UNSPACED: Final = (
    r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uac00-\ud7af"
)
LETTER: Final = rf"[^\W_{UNSPACED}]"
_SCRIPTS: Final = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("lo", re.compile(r"[\u0e80-\u0eff]")),
    ("my", re.compile(r"[\u1000-\u109f]")),
    ("km", re.compile(r"[\u1780-\u17ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
# What a word alone may be in; more would only bring stems that are other words.
_WIDESPREAD: Final = ("es", "fr", "de", "it", "pt", "nl")
# One sign of these outweighs the Latin letters around it: names and brands are written in Latin everywhere.
_SCRIPT_SHARE = 0.2
_LETTERS = re.compile(r"[^\W\d_]+")
# Of so many words the first ones tell the language as well as all.
_WORDS_READ = 200
_READ_CHARS = 2_000


def language_of(text: str) -> str:
    """ISO 639-1; ``en`` when nothing tells (no small word of any language, or a tie with English)."""
    text = text[:_READ_CHARS]
    letters = sum(map(len, _LETTERS.findall(text))) or 1
    script = next(
        (code for code, signs in _SCRIPTS if len(signs.findall(text)) > _SCRIPT_SHARE * letters), ""
    )
    if script and script != "ru":
        return script
    candidates = ("ru", "uk") if script else _LATIN
    hits = _hits(text)
    return max(candidates, key=lambda code: hits[code])  # the first of equals: Russian, English


def plausible_languages(text: str) -> tuple[str, ...]:
    """Every language a short text may be in: first the detected one, then near misses and English."""
    found = language_of(text)
    if found not in (*_LATIN, "ru", "uk"):
        return (found, DEFAULT)
    hits = _hits(text)
    if not hits:
        return (found, *_WIDESPREAD) if found == DEFAULT else (found, DEFAULT)
    near = [code for code in _SMALL_WORDS if hits[code] and hits[code] >= hits[found] - 1]
    return tuple(dict.fromkeys((found, *near, DEFAULT)))


@cache
def small_words(language: str) -> frozenset[str]:
    """What search leaves out, in lower case with and without accents; empty for an unlisted language."""
    words = _SMALL_WORDS.get(language, "").casefold().split()
    return frozenset(words) | frozenset(map(without_accents, words))


def without_accents(word: str) -> str:
    """``café`` as ``cafe``: people leave accents out as soon as a keyboard makes them hard."""
    if word.isascii() or word[0] > _LAST_ACCENTED:
        return word
    plain = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return plain or word


def _by_word() -> dict[str, set[str]]:
    """The languages in which each small word is one."""
    languages: dict[str, set[str]] = {}
    for code, words in _SMALL_WORDS.items():
        for word in words.split():
            languages.setdefault(word, set()).add(code)
    return languages


def _hits(text: str) -> Counter[str]:
    """How many of a text's words are small words of each language."""
    hits: Counter[str] = Counter()
    for word in _LETTERS.findall(text.lower())[:_WORDS_READ]:
        hits.update(_LANGUAGES_OF_WORD.get(word, ()))
    return hits


_OWN_SCRIPTS: Final = frozenset({"ru", "uk", "el", "ar", "hi", "zh", "ja"})
_LATIN: Final = ("en", *(code for code in _SMALL_WORDS if code != "en" and code not in _OWN_SCRIPTS))
_LANGUAGES_OF_WORD: Final = _by_word()
