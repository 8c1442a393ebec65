"""Spots secrets in what a person typed, so that the responder neither keeps nor repeats them.

A first guard only: storing refuses secrets again, with a fuller detector.
"""

import re

_NAME = r"""(?:pass\s?words?|passwd|pass\s?phrases?|pass\s?codes?|pin(?:\s?(?:code|number))?
    |(?:api|access|secret|private|licen[cs]e)[ _-]?(?:key|token)s?|(?:client|shared|my)\ secrets?
    |(?:auth|bearer|my)[ _-]?tokens?
    |(?:door|alarm|gate|safe|security|access|verification|recovery|backup|entry)[ _-]?codes?
    |cvv|cvc|seed\s?phrase|recovery\s?phrase|social\s?security(?:\s?number)?|ssn|passport\s?(?:number|no)
    |iban|account\s?number|(?:credit|debit|bank)\s?card\s?number
    |(?:\w+-?)?(?:passw(?:o|ö)rt(?:e[rs]?)?|kennw(?:o|ö)rt(?:e[rs]?)?|passphrase)|geheimzahl|(?:\w+-)?pin-?nummer
    |(?:t(?:ü|ue)r|alarm|tor|safe|tresor|zugangs|sicherheits|best(?:ä|ae)tigungs|wiederherstellungs)-?code
    |(?:api|wlan)-?schl(?:ü|ue)ssel|zugangsdaten|(?:konto|kreditkarten|kartenpr(?:ü|ue)f|sozialversicherungs
    |reisepass|pass|(?:personal)?ausweis)-?nummer)"""
_NAMED = re.compile(rf"\b{_NAME}\b", re.IGNORECASE | re.VERBOSE)
_TOLD = re.compile(
    rf"""\b{_NAME}(?:\s+(?:for|to|of|on|at|f(?:ü|ue)r|vom|von|zum|zur|am|bei)\b[^.?!\n]{{1,40}}?)?(?:\s+(?:is|are|ist|sind|lautet)\b|['’]s\b|\s*[:=])\s*\S""",
    re.IGNORECASE | re.VERBOSE,
)
_SHAPED = re.compile(
    r"""\bsk-[A-Za-z0-9_-]{12,}                                           # Anthropic, OpenAI
    |\b(?:gh[pousr]|github_pat|glpat|xox[abposr])[_-][A-Za-z0-9_-]{12,}  # GitHub, GitLab, Slack
    |\bAIza[\w-]{30,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b                     # Google, AWS
    |-----BEGIN[ A-Z]*PRIVATE\ KEY|\beyJ[\w-]{10,}\.[\w-]{10,}\.
    |://[^\s/:@]+:[^\s/@]+@                                              # a password in a URL
    |\b\d{3}-\d{2}-\d{4}\b                                              # a US social security number
    |\b[A-Z]{2}\d{2}(?:\ ?[A-Z0-9]{4}){3,7}(?:\ ?[A-Z0-9]{1,3})?\b      # an IBAN
    |\b[0-9a-fA-F]{32,}\b""",
    re.VERBOSE,
)
_CARD = re.compile(r"(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])")


def has_secret(text: str) -> bool:
    """A password, key, token, card, account or passport number, by its name or by its shape."""
    return bool(_TOLD.search(text) or _SHAPED.search(text)) or any(
        _passes_luhn(number.group()) for number in _CARD.finditer(text)
    )


def names_secret(text: str) -> bool:
    """The kind of thing is named, whether or not its value is there: too close to keep."""
    return bool(_NAMED.search(text))


def _passes_luhn(number: str) -> bool:
    digits = [int(character) for character in number if character.isdecimal()]
    doubled = [digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
