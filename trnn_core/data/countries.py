"""Countries: many spellings and codes, one identity with a readable name; what is not certain is asked, never guessed.

    resolve("Korea, South").name                 'South Korea'
    resolve("AUS")                               ambiguous: Australia in ISO-3, Austria in COW
    resolve("AUS", scheme="cow").name            'Austria'
    resolve("Nigerr")                            unknown; suggestions: Niger, Nigeria

The table is countries.tsv beside this file: current states, territories, the main historical states, CAMEO's regions.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.words import closest

SCHEMES: dict[str, str] = {
    "name": "country names in any usual spelling",
    "icews": "names as ICEWS spells them",
    "iso2": "ISO 3166 two-letter codes",
    "iso3": "ISO 3166 three-letter codes",
    "cow": "Correlates of War numbers or abbreviations",
    "cameo": "CAMEO three-letter codes (GDELT)",
    "fips": "FIPS 10-4 two-letter codes",
}
_CODES = ("iso2", "iso3", "cow", "cameo", "fips")
MOST_SUGGESTED = 300
# Words that make no two countries alike.
_COMMON = frozenset(("of", "and", "new", "saint", "islands", "republic", "democratic", "peoples"))
_COMMON |= {"united", "state", "states", "kingdom", "north", "south"}
_PARTS = {  # no spelling of the country, but worth a suggestion
    "england": "United Kingdom",
    "scotland": "United Kingdom",
    "wales": "United Kingdom",
    "northern ireland": "United Kingdom",
    "america": "United States",
    "bavaria": "Germany",
    "chechnya": "Russian Federation",
    "somaliland": "Somalia",
}
_MISSING = {"", "na", "nan", "none", "null", "n a", "unknown"}


@dataclass(frozen=True)
class Actor:
    """One row of the table."""

    id: str
    name: str
    kind: str  # state, territory, historical, region
    iso2: str
    iso3: str
    cow: str
    cow_abbreviation: str
    cameo: str
    fips: str
    icews: str
    aliases: tuple[str, ...]  # "Korea" and "Congo" are aliases of two rows each, and so ambiguous


@dataclass(frozen=True)
class Match:
    """What became of one spelling: `name` is the readable name, or None where the user must decide."""

    original: str
    name: str | None
    actor: Actor | None = None  # None for an actor of the user's own, and where `name` is None
    suggestions: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Unknown:
    """A spelling that the user must decide on."""

    name: str
    suggestions: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Resolution:
    """Original spelling -> readable name for all that is certain, and the rest with suggestions."""

    mapping: dict[str, str]
    unknown: list[Unknown]
    scheme: str | None = None  # the scheme given, or the only one that explains the codes in the list


def resolve(
    name: str, scheme: str | None = None, corrections: Mapping[str, str] | None = None, *, suggest: bool = True
) -> Match:
    """Find the actor behind one spelling or code.

    With a scheme, its codes come first (then names); without one, a spelling that means different actors in different
    schemes is ambiguous. A correction is a readable name of the table, or any other text for an actor of one's own.

    >>> resolve("Moldova, Republic of").name, resolve("moldova").actor.iso3
    ('Moldova', 'MDA')
    >>> resolve("Korea").suggestions
    ('South Korea', 'North Korea')
    """
    if scheme is not None and scheme not in SCHEMES:
        raise TRNNError(f"A naming scheme must be one of {', '.join(SCHEMES)}. Got {scheme!r} instead.")
    corrected = _corrected(name, scheme, corrections or {})
    if corrected is not None:
        return Match(name, corrected, by_name(corrected), reason="corrected by the user")
    key = normalise(name)
    if scheme in _CODES:
        found = _lookup(scheme, key)
        if found or _looks_like_code(name):
            match = _decide(name, found, f"not a code of {SCHEMES[scheme]}")
        else:
            match = _resolve_freely(name, key, codes=False)
    elif scheme == "icews" and (own := _lookup("icews", key)):
        match = _decide(name, own, "")
    else:
        match = _resolve_freely(name, key, codes=scheme is None)
    if match.name is None and not match.suggestions and suggest and key not in _MISSING:
        return replace(match, suggestions=_suggest(name))
    return match


def resolve_many(
    names: Iterable[str], scheme: str | None = None, corrections: Mapping[str, str] | None = None
) -> Resolution:
    """Resolve a whole list; only the first few hundred unknown names get suggestions, which take some time.

    Codes that are ambiguous alone become certain when one scheme alone explains the list.

    >>> r = resolve_many(["AUS", "DEU", "Zaire", "Wakanda"])
    >>> r.mapping["AUS"], r.scheme, [u.name for u in r.unknown]
    ('Australia', 'iso3', ['Wakanda'])
    """
    names = list(dict.fromkeys(names))
    inferred = scheme if scheme is not None else _infer_scheme(names)
    mapping: dict[str, str] = {}
    unknown: list[Unknown] = []
    for name in names:
        sure = _looks_like_code(name) and normalise(name) not in _MISSING  # NA is Namibia only when the user says so
        use = inferred if scheme is not None or sure else None
        suggest = len(unknown) < MOST_SUGGESTED
        match = resolve(name, use, corrections, suggest=suggest)
        if match.name is None and use != scheme:
            match = resolve(name, scheme, corrections, suggest=suggest)
        if match.name is None:
            unknown.append(Unknown(name, match.suggestions, match.reason))
        else:
            mapping[name] = match.name
    return Resolution(mapping, unknown, inferred)


def by_name(name: str) -> Actor | None:
    """The row with exactly this readable name."""
    return _index()["readable"].get(name, (None,))[0]


def actors(*kinds: str) -> tuple[Actor, ...]:
    """All rows, or those of some kinds, in the order of the table."""
    return tuple(a for a in _table() if not kinds or a.kind in kinds)


def normalise(text: str) -> str:
    """Spelling without case, accents, punctuation and articles.

    >>> normalise("  the Côte-d'Ivoire "), normalise("St. Lucia"), normalise("Bosnia & Herzegovina")
    ('cote divoire', 'saint lucia', 'bosnia and herzegovina')
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    plain = plain.replace("&", " and ").replace("'", "").replace("’", "").replace("`", "").replace(".", "")
    words = "".join(c if c.isalnum() else " " for c in plain).split()
    return " ".join("saint" if w == "st" else w for w in words if w != "the")


def _resolve_freely(name: str, key: str, codes: bool) -> Match:
    """By name in any order of words around a comma, and by any code when no scheme was given."""
    found = dict.fromkeys(_lookup("name", key))
    if not found and "," in name:
        head, _, tail = name.partition(",")
        found = dict.fromkeys(_lookup("name", normalise(f"{tail} {head}")))
    meanings = [("name", a) for a in found]
    if codes and not name.strip().isdigit():
        for scheme in _CODES:
            meanings += [(scheme, a) for a in _lookup(scheme, key)]
    distinct = tuple(dict.fromkeys(a for _, a in meanings))
    if key in _MISSING:
        hints = tuple(a.name for a in distinct)
        return Match(name, None, None, hints, "empty or a usual mark for missing; say so if it is meant as a code")
    if len(distinct) > 1 and not found:
        told = ", ".join(f"{a.name} in {' and '.join(s for s, b in meanings if b == a)}" for a in distinct)
        return Match(name, None, None, tuple(a.name for a in distinct), f"ambiguous: {told}")
    if not distinct and name.strip().isdigit():
        return Match(name, None, None, (), "a number; say which scheme it belongs to, for instance cow")
    return _decide(name, tuple(found) or distinct, "not in the table of countries")


def _decide(name: str, found: tuple[Actor, ...], otherwise: str) -> Match:
    if len(found) == 1:
        return Match(name, found[0].name, found[0])
    if found:
        names = tuple(a.name for a in found)
        return Match(name, None, None, names, f"ambiguous: {' or '.join(names)}")
    return Match(name, None, None, (), otherwise)


@lru_cache(maxsize=4096)
def _suggest(name: str) -> tuple[str, ...]:
    key = normalise(name)
    whole = _PARTS.get(key)
    return tuple(dict.fromkeys(filter(None, (whole, *closest(key, _spellings(), _COMMON)))))[:5]


@cache
def _spellings() -> dict[str, str]:
    return {key: rows[0].name for key, rows in _index()["name"].items()}


def _corrected(name: str, scheme: str | None, corrections: Mapping[str, str]) -> str | None:
    """A code is corrected for its own scheme only: AUS in a COW list says nothing about AUS in an ISO list."""
    special = corrections.get(correction_key(name, scheme))
    return special if special is not None else None if _is_plain_code(name, scheme) else corrections.get(name)


def correction_key(name: str, scheme: str | None = None) -> str:
    """Under which key a user's decision about a spelling is kept."""
    return f"{scheme}:{name}" if _is_plain_code(name, scheme) else name


def _is_plain_code(name: str, scheme: str | None) -> bool:
    return scheme in _CODES and _looks_like_code(name)


def _looks_like_code(name: str) -> bool:
    text = name.strip()
    return text.isdigit() or (len(text) in (2, 3) and text.isascii() and text.isalpha())


def _infer_scheme(names: list[str]) -> str | None:
    """The one scheme that explains the codes of a list, if every other that disagrees leaves some unexplained."""
    codes = [n for n in names if _looks_like_code(n) and not n.strip().isdigit()]
    read = {s: {n: found[0] for n in codes if len(found := _lookup(s, normalise(n))) == 1} for s in _CODES}
    best = max(_CODES, key=lambda s: len(read[s]))  # the first of equals
    for other in _CODES:
        disagrees = any(read[best].get(n, a) != a for n, a in read[other].items())
        covered = set(read[other]) <= set(read[best])
        lead = len(read[best]) - len(read[other])
        enough = lead >= (1 if len(read[best]) == len(codes) else 3)
        if disagrees and not (covered and enough):
            return None
    return best if read[best] else None


def _lookup(scheme: str, key: str) -> tuple[Actor, ...]:
    return _index()[scheme].get(key, ())


@cache
def _index() -> dict[str, dict[str, tuple[Actor, ...]]]:
    index: dict[str, dict[str, dict[Actor, None]]] = {s: {} for s in (*SCHEMES, "readable")}
    for a in _table():
        keys = {s: [getattr(a, s)] for s in ("icews", "iso2", "iso3", "cameo", "fips")}
        if a.kind != "region" and a.iso3 and a.cameo != a.iso3:
            keys["cameo"].append(a.iso3)  # newer GDELT files carry the ISO code
        keys |= {"cow": [a.cow, a.cow_abbreviation], "name": [a.name, a.icews, *a.aliases]}
        for scheme, spellings in keys.items():
            for text in filter(None, spellings):
                index[scheme].setdefault(normalise(text), {})[a] = None
        index["readable"][a.name] = {a: None}
    return {s: {k: tuple(rows) for k, rows in keys.items()} for s, keys in index.items()}


@cache
def _table() -> tuple[Actor, ...]:
    text = Path(__file__).with_name("countries.tsv").read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    columns = lines[0].split("\t")
    rows: list[dict[str, Any]] = [dict(zip(columns, line.split("\t"), strict=True)) for line in lines[1:]]
    return tuple(Actor(**row | {"aliases": tuple(filter(None, row["aliases"].split(";")))}) for row in rows)
