"""Words that decide where a sentence ends, in the languages that answers are mostly written in."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ABBREVIATIONS",
    "AFTER_ORDINALS",
    "AT_ENDS_TOO",
    "BEFORE_ORDINALS",
    "BEFORE_NUMBERS",
    "JOINING",
    "LONGEST_ABBREVIATION",
    "LONGEST_JOINING",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


JOINING: Final = _words("""
    and or & und oder et ou y e o i og och en ja ve see cf via \u0438 \u0438\u043b\u0438
    \u548c \u4e0e \u3068 \u304a\u3088\u3073 \u0648
    """)
"""All that stands between two markers of one claim: `[1] and [2]`."""
LONGEST_JOINING: Final = max(map(len, JOINING))

ABBREVIATIONS: Final = _words("""
    e.g i.e vs cf dr mr mrs ms prof st mt ft al approx appr inc ltd co corp jr sr u.s u.k u.n
    e.u ph.d
    a.d b.c eds ed est dept gov gen col sen rep rev hon jan feb mar apr jun jul aug sep sept oct nov
    dec min max ref refs incl excl resp z.b d.h u.a z.t bzw ca evtl ggf vgl mio mrd p.ex mme mlle
    sra ee uu \u0440\u0443\u0431 \u0441\u043c \u0434\u0440 \u0442\u044b\u0441 \u043c\u043b\u043d
    \u043c\u043b\u0440\u0434 \u0438\u043c \u0443\u043b
    """)
"""A full stop behind these ends no sentence."""
LONGEST_ABBREVIATION: Final = max(map(len, ABBREVIATIONS))
BEFORE_NUMBERS: Final = _words(
    "no nr fig figs eq vol vols art abs bd kap p pp pag sec ch chap op s"
)
"""Nor behind these, if a number follows."""
AT_ENDS_TOO: Final = _words("etc usw a.m p.m")
"""Nor behind these, unless a capital letter follows."""
AFTER_ORDINALS: Final = _words("""
    januar j\u00e4nner februar m\u00e4rz april mai juni juli august september oktober november
    dezember jahrhundert jahrhunderts
    """)
"""Nor behind a number of one or two digits, if one of these follows: `am 3. Mai`."""
BEFORE_ORDINALS: Final = _words(
    "der die das den dem des am im zum zur beim vom ein eine einen einem"
)
"""Nor behind such a number, if one of these stands before it: `der 2. Weltkrieg`."""
