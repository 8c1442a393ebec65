"""Both error rates of the secret detector, over sentences as people write them.

The keys are made up: they have the vendors' shapes and open nothing.
"""

import json
import time
from pathlib import Path

import pytest

from memoryapp.policies.secrets import find_secret

# Written after the detector was, and measured before it was changed for them. (In parts, so that no scanner minds.)
LATER = json.loads((Path(__file__).parents[1] / "data" / "secrets.json").read_text())
SECRETS = {
    "my Anthropic key is sk-ant-" + "api03-Zx9dKfQ2mWvT7pLr8NbY4cHj": "an API key",
    "use sk-proj-" + "Ab12Cd34Ef56Gh78Ij90Kl12 for the tests": "an API key",
    "the service account has sk-svcacct-" + "Qw3rTy7UiOp1AsDfGh2JkL": "an API key",
    "Stripe gave us sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc": "an API key",
    "push with ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a": "an API key",
    "token github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789": "an API key",
    "gitlab: glpat-" + "x7KdQ2mWvT7pLr8NbY4c": "an API key",
    "Slack bot xoxb-" + "123456789012-abcdefGHIJKL": "an API key",
    "Maps uses AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY": "an API key",
    "AWS id AKIA" + "IOSFODNN7EXAMPLE": "an API key",
    "and the other half is wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY": "an API key",
    "npm_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xYz publishes": "an API key",
    "sendgrid SG." + "ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf09kqeF8tAmbihYzrnopKc1s5cr0Y": "an API key",
    "the bot's 110201543:AA" + "HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0": "an API key",
    "our client secret is 7f9c2ba4e88f827d616045507605853e": "an API key",
    "API_KEY=9d5ed678fe57bcca610140957afab571": "an API key",
    "curl -H 'Authorization: Bearer 8d7f6a5s4d3f2a1s0d9f8a7s6d5f'": "an API key",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA": "a private key",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9": (
        "a signed token"
    ),
    "postgres://app:s3cr3t@db.internal/app is the database": "a password",
    "My password is hunter2": "a password",
    "my wifi password is correcthorsebatterystaple": "a password",
    "The password for the router is Sunflower!": "a password",
    "pw: Tr0ub4dor&3": "a password",
    "Mein Passwort ist Apfelkuchen7": "a password",
    "Mi contraseña es gato-azul-99": "a password",
    "мой пароль: Qwerty123": "a password",
    "我的密码是 abc12345": "a password",
    "the admin password is 'swordfish' everywhere": "a password",
    "the database password changed to Winter2027!": "a password",
    "my Gmail password's hunter2": "a password",
    "the master passphrase is tiger window marble sunset": "a password",
    "login: anna / Pa55word!": "a password",
    "the code for the alarm is 5567": "a PIN or one-time code",
    "pin number is 77 41": "a PIN or one-time code",
    "the safe combination is 12-34-56": "a PIN or one-time code",
    "backup codes: 8h3k-29dk 39dk-2kd9": "a PIN or one-time code",
    "My PIN is 4821": "a PIN or one-time code",
    "the door code is 4711#": "a PIN or one-time code",
    "your verification code: 839201": "a PIN or one-time code",
    "cvv 123 on the back": "a PIN or one-time code",
    "My card is 4111 1111 1111 1111, expires 12/29": "a card number",
    "amex 378282246310005": "a card number",
    "Pay with 5555-5555-5555-4444 please": "a card number",
    "My IBAN is DE89 3704 0044 0532 0130 00": "an account number",
    "Send it to GB29NWBK60161331926819": "an account number",
    "My SSN is 078-05-1120": "a social security number",
    "social security number 219099999": "a social security number",
    "seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow": "a recovery phrase",
    "my passport number is C01X00T47": "a passport number",
}

BENIGN = [
    "my password manager is Bitwarden",
    "My favourite password app is 1Password",
    "I keep my passwords in 1Password",
    "my password is too long to remember",
    "My password is stored in the safe at home",
    "the password policy was changed in March 2026",
    "I forgot my password again",
    "the password is expired",
    "Passwords: I reset them every 90 days",
    "My bowling pin is 15 inches tall",
    "I dropped a pin at 12 Harbour Street",
    "My PIN code is saved nowhere",
    "my zip code is 94110",
    "the area code is 415",
    "Use the discount code SAVE20",
    "the dress code is smart casual",
    "My API key expires in March",
    "the access token lives 15 minutes",
    "I work on token-based authentication",
    "The key to the garden is under the mat",
    "My secret is that I never liked coffee",
    "the deploy is commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "The run id is 0197f3c2-4b1e-7c3a-9f55-0d1e2c3b4a59",
    "request 550e8400e29b41d4a716446655440000 failed",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "order number 123-45-6789 was delivered",
    "Ticket 4111 1111 1111 1111 is closed",
    "My order no. 6011000990139424 is late",
    "call me at +49 170 1234567",
    "My phone is 415-555-2671",
    "the landline is 030 1234567 890",
    "The meeting is on 2026-03-01 at 10:30",
    "the train leaves 1770 times between 1999-12-31 and 2026-01-01",
    "ISBN 978-3-16-148410-0 is on my list",
    "EAN 4006381333931",
    "IMEI 356938035643809",
    "the account is DE00 1234 5678 9012 3456 78",
    "Version 10.0.19045.3803 of Windows",
    "my server is at 192.168.100.200",
    "the timestamp 1767225600000 is wrong",
    "Invoice 1041 is paid, invoice 1042 is not",
    "I was born on 14.07.1987",
    "the coordinates are 52.520008, 13.404954",
    "https://example.org/docs?page=2&ref=abc123def456 explains it",
    "My license plate is B-MW 1234",
    "my GitHub name is sk-fan",
    "the shared doc is 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms",
    "I pass the word on to Anna",
    "My passport expires in 2031",
    "I like the passwords chapter of the book",
    "the seed phrase idea is confusing to me",
    "Security code reviews are on Tuesdays at 1500",
    "my password is in 1Password",
    "My password is my dog's name",
    "The password is 12 characters long",
    "The password is between 8 and 64 characters",
    "Remind me to change my password on 2026-12-01",
    "My student number is 078-05-1120",
    "PIN entry fails after 3 tries",
    "My card ends in 4242",
    "the recovery phrase is hidden in the attic behind the old books and the box with the summer clothes",
    "Tan 2000 is my sofa's colour",
]


@pytest.mark.parametrize(("sentence", "sort"), SECRETS.items())
def test_a_secret_is_found_and_named(sentence, sort):
    assert find_secret(sentence) == sort


@pytest.mark.parametrize("sentence", BENIGN)
def test_a_near_miss_is_no_secret(sentence):
    assert find_secret(sentence) is None


def test_rates(record_property):
    caught = sum(find_secret(sentence) is not None for sentence in SECRETS)
    refused = sum(find_secret(sentence) is not None for sentence in BENIGN)

    record_property("secrets_caught", f"{caught}/{len(SECRETS)}")
    record_property("benign_refused", f"{refused}/{len(BENIGN)}")
    assert len(SECRETS) >= 26
    assert len(BENIGN) >= 40
    assert (caught, refused) == (len(SECRETS), 0)


def test_rates_over_sentences_written_later(record_property):
    caught = sum(find_secret("".join(parts)) is not None for parts in LATER["secrets"])
    refused = [sentence for sentence in LATER["benign"] if find_secret(sentence)]

    record_property("later_secrets_caught", f"{caught}/{len(LATER['secrets'])}")
    assert caught >= 0.9 * len(LATER["secrets"])
    assert refused == []


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "1 " * 50_000,
        "password " * 10_000,
        "seed phrase " + "abc " * 20_000,
        "aA1" * 33_000,
        "api key " * 10_000,
        "api " * 25_000,
        "pin for " + "x" * 90_000,
        "AB12 " * 20_000,
        "D.C." * 25_000,
        "a-" * 50_000,
        "eyJ-" * 25_000,
        "://" * 33_000,
        "api_key=" * 12_500,
        "login " + "/" * 100_000,
        "passport" + " " * 100_000,
        "passport" + "\n" * 100_000,
        "password is " * 8_300,
        "\n" * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_hundred_thousand_characters_take_no_time_to_speak_of(text):
    started = time.perf_counter()

    find_secret(text)

    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("my p\u00adassword is hunter2!xyz", "a password"),  # a soft hyphen
        ("my pass\u200bword is hunter2!xyz", "a password"),  # no width
        ("my ｐａｓｓｗｏｒｄ is hunter2!xyz", "a password"),
        ("card 4111\u200b1111\u2060111\ufeff11111", "a card number"),
        ("４１１１ １１１１ １１１１ １１１１", "a card number"),
        ("our AKIA\u00adIOSFODNN7EXAMPLE", "an API key"),
    ],
)
def test_a_secret_in_other_characters_is_found(text, sort):
    assert find_secret(text) == sort


@pytest.mark.parametrize(
    "text", ["Ich trinke gern Kaffee\u00ad", "½ a cup, x² and … more", "👩\u200d💻 at work"]
)
def test_other_characters_alone_are_no_secret(text):
    assert find_secret(text) is None
