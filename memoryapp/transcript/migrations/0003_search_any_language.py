"""Search in any language: one folding of text into words, shared by the column and by every query."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models

# Written with SQL-standard bodies, whose names are resolved when the function is made: no search_path can bend them.
#
# NFKD takes accents off their letters and turns ligatures and full-width forms into plain ones; NFC then puts
# together what is left of Hangul and Kana. Hebrew points, Arabic vowels and invisible characters are not typed by
# those who search. The letters that no normalisation takes apart are spelled out.
#
# Each character of a script that is written without spaces between words is a word of its own (Thai, Lao, Tibetan,
# Myanmar, Khmer, Kana, Bopomofo, Han, Yi), and so is a Hangul syllable, since particles cling to Korean nouns: a run
# of them is sought as a phrase. ASCII punctuation separates words, lest the parser take "ORD-2041" for a
# negative number or "a.b@c.org" for one word, of which no part would be found.
WORDS = r"""
CREATE FUNCTION transcript_words(said text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN btrim(regexp_replace(regexp_replace(
    replace(replace(replace(replace(translate(
        lower(normalize(regexp_replace(
            normalize(said, NFKD),
            '[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]',
            '', 'g'), NFC)),
        'øđłħŧıς', 'odlhtiσ'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
    '([\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3031-\u312f\u3190-\u31ff\u3400-\u4dbf\u4e00-\ua4cf\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff])',
    ' \1 ', 'g'),
    '[\x01-/:-@\[-`{-\x7f]+', ' ', 'g'))
"""

# Of a very long message its beginning: a tsvector holds a megabyte at most, and a text beyond it could not be stored
# at all. English stems stand beside the words as they are. They have no positions: a phrase is sought in the words
# as they are, whose positions end at 16,383.
VECTOR = """
CREATE FUNCTION transcript_search_vector(said text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT strip(to_tsvector('pg_catalog.english'::regconfig, folded.words))
        || to_tsvector('pg_catalog.simple'::regconfig, folded.words)
    FROM (SELECT transcript_words(left(said, 100000)) AS words OFFSET 0) AS folded
)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("transcript", "0002_branches_and_pins"),
    ]

    operations = [
        migrations.RunSQL(WORDS, "DROP FUNCTION transcript_words(text)"),
        migrations.RunSQL(VECTOR, "DROP FUNCTION transcript_search_vector(text)"),
        migrations.RemoveIndex(model_name="message", name="message_search"),
        migrations.RemoveField(model_name="message", name="search_vector"),
        migrations.AddField(
            model_name="message",
            name="search_vector",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(models.F("text"), function="transcript_search_vector"),
                output_field=django.contrib.postgres.search.SearchVectorField(),
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=django.contrib.postgres.indexes.GinIndex(fields=["search_vector"], name="message_search"),
        ),
    ]
