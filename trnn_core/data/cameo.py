"""The CAMEO codes: twenty roots, four quad classes. Codes are text: "010" is root 01, "10" is root 10."""

from __future__ import annotations

from trnn_core.data.series import QUAD_ACTIONS

VERBAL_COOPERATION, VERBAL_CONFLICT, MATERIAL_COOPERATION, MATERIAL_CONFLICT = QUAD_ACTIONS
QUAD_BY_NUMBER = {  # as GDELT and POLECAT number them
    "1": VERBAL_COOPERATION,
    "2": MATERIAL_COOPERATION,
    "3": VERBAL_CONFLICT,
    "4": MATERIAL_CONFLICT,
}
_ROOT_NAMES = (
    "make public statement",
    "appeal",
    "express intent to cooperate",
    "consult",
    "engage in diplomatic cooperation",
    "engage in material cooperation",
    "provide aid",
    "yield",
    "investigate",
    "demand",
    "disapprove",
    "reject",
    "threaten",
    "protest",
    "exhibit force posture",
    "reduce relations",
    "coerce",
    "assault",
    "fight",
    "use unconventional mass violence",
)
ROOTS = {f"{n:02}": f"{n:02} {name}" for n, name in enumerate(_ROOT_NAMES, 1)}


def root(code: str) -> str | None:
    """The root of a CAMEO code, or None for what is none ("13y").

    >>> root("010"), root("10"), root("1823"), root("13y"), root("999")
    ('01', '10', '18', None, None)
    """
    if not (2 <= len(code) <= 4 and code.isascii() and code.isdigit()):
        return None
    return code[:2] if code[:2] in ROOTS else None


def quad_class(code: str) -> str | None:
    """The quad class of a CAMEO code.

    >>> quad_class("0311"), quad_class("112")
    ('verbal cooperation', 'verbal conflict')
    """
    start = root(code)
    if start is None:
        return None
    number = int(start)
    if number <= 5:
        return VERBAL_COOPERATION
    if number <= 8:
        return MATERIAL_COOPERATION
    return VERBAL_CONFLICT if number <= 13 else MATERIAL_CONFLICT


def grouped(code: str, grouping: dict[str, str]) -> str | None:
    """The user's group of a code: the longest of the grouping's codes that it starts with.

    >>> grouped("1823", {"18": "violence", "182": "abuse", "19": "violence"}), grouped("04", {"18": "violence"})
    ('abuse', None)
    """
    for length in range(len(code), 0, -1):
        if code[:length] in grouping:
            return grouping[code[:length]]
    return None
