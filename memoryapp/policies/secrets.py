"""What must never become a memory: passwords, keys, card and account numbers. Pure; text in, a verdict out.

Three sorts of evidence, from the surest: a shape that only one vendor's keys have, a number whose checksum is right,
and a name ("password", "door code") with a value that is not an ordinary word. A bare run of hexadecimal is no
evidence: commits, checksums and UUIDs look like that. ``tests/policies/test_secrets.py`` keeps both error rates.
"""

import re

from memoryapp.errors import InvalidInputError, gettext_noop
from memoryapp.policies.flags import without_gaps
from memoryapp.policies.lookalikes import plain

_KEY_SHAPES = re.compile(
    r"""\b(?:sk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{16,}          # Anthropic, OpenAI
    |[rs]k_(?:live|test)_[A-Za-z0-9]{16,}                            # Stripe
    |gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}           # GitHub, GitLab
    |xox[abeoprs]-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}         # Slack, Google
    |(?:AKIA|ASIA)[A-Z0-9]{16}                                       # AWS
    |npm_\w{30,}|pypi-[\w-]{30,}|hf_[A-Za-z0-9]{30,}|dop_v1_\w{40,}  # npm, PyPI, Hugging Face, DigitalOcean
    |SG\.[\w-]{16,}\.[\w-]{16,}|\d{8,10}:AA[\w-]{30,}                # SendGrid, Telegram
    |pa-[A-Za-z0-9_-]{40,}|strata_[\w-]{20,})                        # Voyage, our own tokens
    |\bBearer\s+[\w.~+/-]{20,}""",
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|PuTTY-User-Key-File")
_SIGNED_TOKEN = re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}")
_PASSWORD_IN_ADDRESS = re.compile(r"[a-z0-9+.-]://[^\s/:@]{0,200}:[^\s/@]{1,200}@", re.IGNORECASE)
_LETTERS_AND_DIGITS = r"(?=\S{0,100}\d)(?=\S{0,100}[^\W\d_])"
_FORTY = re.compile(r"(?<![\w/+=])[A-Za-z0-9/+]{40}(?![\w/+=])")

# "is", ":", "=" or "changed to", and "for the router" and the like may stand before it.
_TOLD = r"""(?:\s+(?:for|to|of|on|at|fürs?|para|del?|della|pour|для)\b[^.?!:=\n]{1,40}?)?
    (?:\s*[:=]\s*|['’]s\s+|\s+(?:is|was|are|ist|es|é|est|lautet|это)\s+(?:now\s+|still\s+|just\s+)?(?:[:=]\s*)?
    |\s+(?:(?:is|was|has\ been)\s+)?(?:changed|set|reset|updated)\s+to\s+)"""
_SPOKEN_NAME = r"""(?:pass\s?words?|passwd|pwd|pw|pass\s?phrases?|passwort|kennwort|contraseña|senha
    |mot\ de\ passe|wachtwoord|пароль|(?:wi-?fi|wlan)\s+key)"""
_PASSWORD = re.compile(rf"(?<!\w)(?P<name>{_SPOKEN_NAME}){_TOLD}(?P<value>\S.*)", re.IGNORECASE | re.VERBOSE)
_PASSWORD_BESIDE = re.compile(
    rf"(?<!\w){_SPOKEN_NAME}\s+['\"“]?(?P<value>{_LETTERS_AND_DIGITS}\S{{6,}})", re.IGNORECASE | re.VERBOSE
)
_CJK_PASSWORD = re.compile(r"(?:密码|密碼|口令|パスワード|비밀번호)\s*(?:是|は|는|[::=])\s*\S{3,}")
_KEY_NAME = r"""(?:(?:api|access|secret|private|auth|bearer|encryption|account|licen[cs]e|client)[ _-]?){1,3}
    (?:keys?|tokens?|secrets?)"""
_NAMED_KEY = re.compile(
    rf"(?<!\w){_KEY_NAME}(?:{_TOLD}|\s+)['\"“]?(?P<value>{_LETTERS_AND_DIGITS}[^\s'\"”]{{10,}})",
    re.IGNORECASE | re.VERBOSE,
)
_LOCKED = r"(?:door|alarm|gate|safe|lock|entry|garage|phone|suitcase|locker)"
_CODE_NAME = rf"""(?:pin(?:\s?(?:code|number))?|pass\s?code|otp|2fa\ code|cvv2?|cvc2?
    |(?:one[- ]time|verification|security|confirmation|login|sms|backup|recovery|unlock|access|{_LOCKED})\s*(?:code|pin)
    |(?:code|combination)\s+(?:for|to|of)\s+(?:the|my|our)\s+{_LOCKED}|{_LOCKED}\s+combination|(?:opens?|unlocks?)\s+with\s+(?:the\s+)?(?:code|pin))"""
_CODE = re.compile(
    rf"(?<!\w){_CODE_NAME}(?:{_TOLD}|\s+)[#*]?\d(?:[ -]?\d){{2,7}}(?![\d.]*\w)", re.IGNORECASE | re.VERBOSE
)
_BACKUP_CODES = re.compile(
    rf"\b(?:backup|recovery)\s+codes?(?:{_TOLD}|\s+){_LETTERS_AND_DIGITS}\S{{6,}}", re.IGNORECASE | re.VERBOSE
)
_LOGIN = re.compile(
    rf"\b(?:login|credentials)\b\W{{1,9}}(?:are\W{{1,9}})?\S{{1,100}}\s?[/:]\s?{_LETTERS_AND_DIGITS}\S{{6,}}",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"(?:seed|recovery|mnemonic|wallet|backup)\s*(?:phrase|words?|seed)\b\W*(?:(?:is|are)\b\W*)?(?:[a-z]{3,8}\W+){11,23}[a-z]{3,8}",
    re.IGNORECASE,
)
_PASSPORT = re.compile(
    rf"""\b(?:passport|driver'?s\ licen[cs]e|identity\ card)\s*(?:number|no\.?|nr\.?)?(?:{_TOLD}|\s+)
    (?=(?:[A-Z]{{0,12}}\d){{4}})[A-Z0-9]{{7,12}}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SOCIAL_SECURITY = re.compile(r"(?<![\d-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\d-])")
_NAMED_SOCIAL_SECURITY = re.compile(r"\b(?:ssn|social security(?: number)?)\b\D{0,6}\d{9}\b", re.IGNORECASE)
_CARD = re.compile(r"(?<![\d+.-])\d(?:[ -]?\d){13,18}(?![\d-])")
# Leading digits and length of the cards in use: Visa, Mastercard, Amex, Diners, Discover, JCB, UnionPay, Maestro.
_CARD_ISSUERS = re.compile(
    r"(?:4\d{15}(?:\d{3})?|5[0-8]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[0689]\d{12}|35\d{14}|6\d{15}(?:\d{1,3})?)"
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
# What stands before a number that is somebody's reference and only looks like more.
_REFERENCE = re.compile(
    r"\b(?:order|ticket|invoice|case|part|tracking|parcel|shipment|booking|reservation|serial|model|sku|imei|isbn|ean"
    r"|reference|ref|article|item|job|build|customer|student|employee|member|patient|policy|contract)\b[\s.:#]*(?:number|no|nr|id|code)?[\s.:#]*(?:is|was)?[\s:#]*$",
    re.IGNORECASE,
)

# After "my password is": how people speak about one without telling it.
_TALK = frozenset(
    """a an the my your our his her their too very so not no never always also only again quite rather really pretty
    in on at with by from of for to about under kept stored saved written managed generated protected encrypted hashed
    hidden changed reset rotated expired expiring needed required wrong weak strong safe secure insecure long short
    easy hard difficult simple complicated old new unique random empty missing gone lost forgotten different same
    shared invalid incorrect correct due something nothing anything everything what when where why how that this it
    none ready working broken ok okay fine good bad better worse annoying terrible case-sensitive
    zu sehr nicht im ein eine der die das mein sicher unsicher vergessen abgelaufen""".split()  # noqa: SIM905 - a hundred quoted words would read worse
)


class SecretRefusedError(InvalidInputError):
    """The text holds a secret; ``details["found"]`` says which sort, never the text."""

    code = "secret_refused"


def find_secret(text: str) -> str | None:
    """What kind of secret ``text`` holds ("a password"), in whatever characters it is written; or None."""
    spellings = {without_gaps(text), without_gaps(plain(text))}
    for name, holds in _TESTS:
        if any(holds(spelling) for spelling in spellings):
            return name
    return None


def _holds_key(text: str) -> bool:
    has_shape = _KEY_SHAPES.search(text) or _NAMED_KEY.search(text)
    return bool(has_shape) or any(_is_aws_secret(match.group()) for match in _FORTY.finditer(text))


def _is_aws_secret(text: str) -> bool:
    """40 characters of base64 with both cases and digits in plenty, which neither a hash nor a path has."""
    counts = (sum(map(is_of_class, text)) for is_of_class in (str.isupper, str.islower, str.isdigit))
    return all(count >= least for count, least in zip(counts, (5, 5, 1), strict=True))


def _holds_password(text: str) -> bool:
    if any(
        pattern.search(text) for pattern in (_PASSWORD_IN_ADDRESS, _CJK_PASSWORD, _PASSWORD_BESIDE, _LOGIN)
    ):
        return True
    return any(_is_told(match["name"], match["value"]) for match in _PASSWORD.finditer(text))


def _is_told(name: str, value: str) -> bool:
    """Whether what follows "password is" is the password itself, not something about it."""
    word = value.split(maxsplit=1)[0].strip("'\"“”‘’«»`")
    bare = word.rstrip(".,;!?)")
    if len(bare) < 3 and bare == word:
        return False
    has_more_than_letters = any(not char.isalpha() and char not in "-'’" for char in bare)
    is_talk = bare.lower() in _TALK
    is_phrase = "phrase" in name.lower()  # of several words by nature
    return has_more_than_letters or (not is_talk and (is_phrase or _ends_clause(value, word)))


def _ends_clause(value: str, word: str) -> bool:
    """A plain word counts when nothing but the end of the clause comes after it, or when it is quoted."""
    rest = value[value.index(word) + len(word) :].lstrip()
    return value.lstrip()[0] in "'\"“‘«`" or not rest or word[-1] in ".,;!?" or rest[0] in ".,;!?)"


def _holds_code(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_CODE, _BACKUP_CODES))


def _holds_social_security_number(text: str) -> bool:
    found = [m for m in _SOCIAL_SECURITY.finditer(text) if not _is_reference(text, m)]
    return bool(found or _NAMED_SOCIAL_SECURITY.search(text))


def _holds_card(text: str) -> bool:
    return any(_is_card(match.group()) and not _is_reference(text, match) for match in _CARD.finditer(text))


def _is_card(number: str) -> bool:
    """A known issuer's number whose check digit is right (ISO/IEC 7812-1, annex B)."""
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    is_issued = _CARD_ISSUERS.fullmatch("".join(map(str, digits))) is not None
    return is_issued and len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _holds_account(text: str) -> bool:
    return any(_is_iban(match.group().replace(" ", "")) for match in _IBAN.finditer(text))


def _is_iban(number: str) -> bool:
    """Right length and remainder (ISO 13616: letters count from 10, the first four characters go last, mod 97 is 1)."""
    moved = number[4:] + number[:4]
    return 15 <= len(number) <= 34 and int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def _is_reference(text: str, match: re.Match[str]) -> bool:
    return _REFERENCE.search(text[max(0, match.start() - 40) : match.start()]) is not None


_TESTS = (
    (gettext_noop("a private key"), _PRIVATE_KEY.search),
    (gettext_noop("a signed token"), _SIGNED_TOKEN.search),
    (gettext_noop("an API key"), _holds_key),
    (gettext_noop("a recovery phrase"), _PHRASE.search),
    (gettext_noop("a password"), _holds_password),
    (gettext_noop("a PIN or one-time code"), _holds_code),
    (gettext_noop("a card number"), _holds_card),
    (gettext_noop("an account number"), _holds_account),
    (gettext_noop("a social security number"), _holds_social_security_number),
    (gettext_noop("a passport number"), _PASSPORT.search),
)
