"""The tokenizer and detokenizer of the Moses translation toolkit (Koehn et al., 2007), with its English rules.

GluonNLP reached them through the package sacremoses, which gave the classes their names; here they
stand on their own.
"""

from __future__ import annotations

import functools
import re
import unicodedata

__all__ = ["SacreMosesTokenizer", "SacreMosesDetokenizer"]


class SacreMosesTokenizer:
    """Text to tokens: a list, or with `return_str` one string with blanks between the tokens.

    Characters that mean something in XML or to Moses come out as entities (`&apos;`, `&#124;`, ...).

    >>> gluonnlp.data.SacreMosesTokenizer()("Hello, world.")
    ['Hello', ',', 'world', '.']
    """

    def __call__(self, sample, return_str=False):
        text = re.sub(r"[\x00-\x1f]", "", re.sub(r"\s+", " ", str(sample))).strip()
        text = _keep_dots_together(_rules().special.sub(r" \1 ", text))
        for pattern, replacement in _rules().commas_and_apostrophes:
            text = pattern.sub(replacement, text)
        text = " ".join(_split_full_stops(text.split()))
        text = re.sub(r"\.' ?$", " . ' ", text)
        while "DOTDOTMULTI" in text:
            text = text.replace("DOTDOTMULTI", "DOTMULTI.")
        text = text.replace("DOTMULTI", ".")
        for plain, entity in _ENTITIES:
            text = text.replace(plain, entity)
        return text if return_str else text.split()


class SacreMosesDetokenizer:
    """Tokens to text: one string, or with `return_str=False` its words.

    >>> gluonnlp.data.SacreMosesDetokenizer()(["Hello", ",", "world", "."])
    'Hello, world.'
    """

    def __init__(self, return_str=True):
        self._return_str = return_str

    def __call__(self, sample, return_str=None):
        text = " ".join(sample).replace(" @-@ ", "-")
        for plain, entity in reversed(_ENTITIES + _OLD_ENTITIES):
            text = text.replace(entity, plain)
        text = re.sub(" {2,}", " ", _join(text.split())).strip()
        wanted = self._return_str if return_str is None else return_str
        return text if wanted else text.split()


def _keep_dots_together(text):
    """Runs of dots as words that no rule takes apart: DOTMULTI for the first dot, DOTDOTMULTI for two, ..."""
    text = re.sub(r"\.(\.+)", r" DOTMULTI\1", text)
    while "DOTMULTI." in text:
        text = re.sub(r"DOTMULTI\.([^.])", r"DOTDOTMULTI \1", text)
        text = text.replace("DOTMULTI.", "DOTDOTMULTI")
    return text


def _split_full_stops(tokens):
    """Splits the dot off a token, unless it marks an abbreviation or the sentence goes on in lower case."""
    for i, token in enumerate(tokens):
        prefix, following = token[:-1], tokens[i + 1] if i + 1 < len(tokens) else ""
        if not prefix or not token.endswith("."):
            continue
        dotted = "." in prefix and any(_is_letter(c) for c in prefix)
        goes_on = following and (unicodedata.category(following[0]) == "Ll" or following[0] in "ªº")
        numbered = prefix in _BEFORE_NUMBERS and "0" <= following[:1] <= "9"
        if not (dotted or prefix in _ABBREVIATIONS or goes_on or numbered):
            tokens[i] = prefix + " ."
    return tokens


def _join(tokens):
    text, blank, open_quotes = "", " ", {}
    for i, token in enumerate(tokens):
        before = tokens[i - 1] if i else ""
        glue, next_blank = blank, " "
        if _is_cjk(token[0]):
            glue = "" if before and _is_cjk(before[-1]) else blank
        elif all(c in "([{¿¡" or unicodedata.category(c) == "Sc" for c in token):
            next_blank = ""
        elif re.fullmatch(r"[,.?!:;\\%}\])]+", token) or (before and re.match("'.", token) and _is_letter(token[1])):
            glue = ""
        elif re.fullmatch("['\"„“`]+", token):
            quote = '"' if re.fullmatch("[„“]+", token) else token
            closes = open_quotes.get(quote, 0) % 2
            possessive = not closes and token == "'" and before.endswith("s")
            if closes or possessive:
                glue = ""
            else:
                next_blank = ""
            if not possessive:
                open_quotes[quote] = open_quotes.get(quote, 0) + 1
        text += glue + token
        blank = next_blank
    return text


_ENTITIES = [
    ("&", "&amp;"),
    ("|", "&#124;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("'", "&apos;"),
    ('"', "&quot;"),
    ("[", "&#91;"),
    ("]", "&#93;"),
]
_OLD_ENTITIES = [("|", "&bar;"), ("[", "&bra;"), ("]", "&ket;")]

# Abbreviations of English after which a dot does not end the sentence.
_WORDS = """
    A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con
    Corp Cpl DR Dr Drs Ens Gen Gov Hon Hr Hosp Insp Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph
    Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg v vs i.e rev e.g Rs Nos Nr Jan Feb Mar Apr Jun Jul
    Aug Sep Oct Nov Dec
"""
_ABBREVIATIONS = frozenset(_WORDS.split())
_BEFORE_NUMBERS = frozenset(["No", "Art", "pp"])


class _Rules:
    def __init__(self):
        letter, digit = _class(_is_letter), _class(lambda c: unicodedata.category(c)[0] == "N")
        decimal = _class(lambda c: unicodedata.category(c) == "Nd")
        self.special = re.compile(rf"([^{letter}{decimal}\s.'`,\-])")
        self.commas_and_apostrophes = [
            (re.compile(pattern), replacement)
            for pattern, replacement in (
                (rf"([^{digit}]),", r"\1 , "),
                (rf",([^{digit}])", r" , \1"),
                (rf"([{digit}]),$", r"\1 , "),
                (rf"([^{letter}])'([^{letter}])", r"\1 ' \2"),
                (rf"([^{letter}{digit}])'([{letter}])", r"\1 ' \2"),
                (rf"([{letter}])'([^{letter}])", r"\1 ' \2"),
                (rf"([{letter}])'([{letter}])", r"\1 '\2"),
                (rf"([{digit}])'(s)", r"\1 '\2"),
            )
        ]


@functools.cache
def _rules():
    return _Rules()


# Scripts without blanks between words, whose characters Moses separates.
_SEPARATED = ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF))
_COMBINING = (
    (0x0300, 0x036F),
    (0x0483, 0x0489),
    (0x1AB0, 0x1DE6),
    (0x1DF5, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE2F),
)


def _is_letter(char):
    """Whether a character is alphabetic, for Moses: ideographs and Hangul syllables are not."""
    code, category = ord(char), unicodedata.category(char)
    if category[0] == "L" or category == "Nl":
        return not _within(code, _SEPARATED)
    if category in ("Mn", "Mc"):
        return not _within(code, _COMBINING)
    return 0x24B6 <= code <= 0x24E9  # letters in circles


def _is_cjk(char):
    code = ord(char)
    ranges = ((0x1100, 0x11FF), (0x2E80, 0xA4CF), (0xA840, 0xA87F), (0xAC00, 0xD7AF), (0xF900, 0xFAFF))
    return _within(code, ranges + ((0xFE30, 0xFE4F), (0xFF65, 0xFFDC), (0x20000, 0x2FFFF)))


def _within(code, ranges):
    return any(low <= code <= high for low, high in ranges)


def _class(is_member):
    """The inside of a regular expression's character class with all members, as ranges.

    Ends with the basic plane: Moses knows little more, and Python's `re` is slow beyond it.
    """
    ranges = []
    for code in range(0x10000):
        if is_member(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\u{low:04x}-\\u{high:04x}" for low, high in ranges)
