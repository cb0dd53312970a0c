"""What two texts have in common, as far as words can tell, in scripts with and without spaces.

Good enough for a hint that a source may not belong to a claim; no verdict can rest on it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

__all__ = ["TextWords", "share_nothing", "words_of"]

_WORD = re.compile(r"[0-9]++(?:[.,][0-9]++)*+|[^\W\d_]++|\w")
_UNSPACED: Final = frozenset(("CJK", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"))
"""Scripts that write no spaces between words, or glue particles to them."""
_ONE_SCRIPT: Final = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "IDEOGRAPHIC": "CJK"}
_COMMON_WORDS: Final = {
    "en": """
        the of and to in is that for it as was with be by on not he his but at are this have
        from or had an they which one you were all her she there would their we him been has
        when who will no more if out so what up its about into than them can only other some
        could these also may most now over such how our your after any
    """,
    "de": """
        der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch
        es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über
        einen so zum war haben nur oder aber vor zur bis mehr durch man sein wurde wenn kann
    """,
    "fr": """
        de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce
        il sont avec son aux cette ou ces mais comme ont leur été nous vous elle être deux
        même
    """,
    "es": """
        de la que el en los del se las por un para con una su al es lo como más pero sus le
        ya fue este ha sí porque esta son entre cuando muy sin sobre también hasta hay donde
    """,
    "it": """
        di che il la in un per del non con una le si da della sono come al dei più nel gli
        alla anche ha delle lo questo ma ed essere nella dal su tra o ai loro
    """,
    "pt": """
        de que em um para uma com não os no se na por mais as dos como mas ao foi ele das
        tem à seu sua ou ser quando muito há nos já está também pelo pela até isso são
    """,
    "nl": """
        de van een het en in is dat op te zijn voor met die niet aan er om ook als bij maar
        door naar uit heeft nog werd wordt over dan zich was worden deze meer dit hij
    """,
}
"""Words that say nothing of a subject, and much of the language they are in."""


def _folded(text: str) -> str:
    """Return `text` without case, accents, and differences of width, so that spellings meet."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(char for char in apart if unicodedata.category(char)[0] != "M")
    return unicodedata.normalize("NFC", bare)


def _languages_by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, words in _COMMON_WORDS.items():
        for word in map(_folded, words.split()):
            found[word] = (*found.get(word, ()), language)
    return found


_LANGUAGES_OF: Final = _languages_by_word()
_STEM: Final = 5
"""Letters that have to agree: enough to let a plural or a tense pass."""
_SAMPLE: Final = 400
"""Words by which a script and a language are told."""


@dataclass(frozen=True, slots=True)
class TextWords:
    """What can be recognised of a text in another one."""

    words: frozenset[str]
    """Starts of words, numbers, and pairs of characters of scripts without spaces."""
    script: str | None
    """The script of most words; None: there are numbers alone, or nothing."""
    language: str | None
    """The language, if its common words leave no doubt."""


def words_of(text: str) -> TextWords:
    """Return what can be recognised of `text`. Never raises."""
    found: set[str] = set()
    scripts: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    pieces = _WORD.findall(_folded(text))
    for word in islice(pieces, _SAMPLE):
        if not word[0].isdigit():
            script = _script(word[0])
            scripts[script] += len(word) * (3 if script in _UNSPACED else 1)
        languages.update(_LANGUAGES_OF.get(word, ()))
    for word in pieces:
        if word[0].isdigit():
            found.add(word.replace(",", "").replace(".", ""))
        elif word.isascii():
            if len(word) > 1 and word not in _LANGUAGES_OF:
                found.add(word[:_STEM])
        elif any(_script(char) in _UNSPACED for char in (word[0], word[-1])):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif len(word) > 1 and word not in _LANGUAGES_OF:
            found.add(word[:_STEM])
    return TextWords(
        words=frozenset(found),
        script=max(scripts, key=scripts.__getitem__) if scripts else None,
        language=_clear_winner(languages),
    )


def share_nothing(claim: TextWords, source: TextWords) -> bool:
    """Return whether two texts that could share a word share none.

    Texts in different scripts or languages share no words whatever they say, and a single word can
    always be put otherwise: these are never said to share nothing.
    """
    if len(claim.words) < 2 or not source.words or claim.script != source.script:
        return False
    if claim.language and source.language and claim.language != source.language:
        return False
    return claim.words.isdisjoint(source.words)


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    if char.isascii():
        return "LATIN"
    name = unicodedata.name(char, "").partition(" ")[0]
    return _ONE_SCRIPT.get(name, name)


def _clear_winner(languages: Counter[str]) -> str | None:
    ranked = [*languages.most_common(2), ("", 0), ("", 0)]
    (first, most), (_, next_most) = ranked[0], ranked[1]
    return first if most >= 3 and most >= 1.5 * next_most else None
