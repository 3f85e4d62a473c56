"""The licences of everything that is pinned, as docs/licences.md; fails on one that does not go with MIT.

python scripts/licences.py            writes docs/licences.md
python scripts/licences.py --check    only looks whether it is up to date and all licences are compatible
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
# Licences under which a program may use a package and itself be given away under MIT. LGPL and MPL bind changes to the
# package itself, which we do not make; the GPL would bind the whole program.
COMPATIBLE = (
    "MIT",
    "BSD",
    "Apache",
    "PSF",
    "Python Software Foundation",
    "ISC",
    "HPND",
    "Historical Permission",
    "MPL",
    "Mozilla",
    "LGPL",
    "Lesser General",
    "Unlicense",
    "Zlib",
    "0BSD",
    "CC0",
    "Public Domain",
    "Dual License",
    "CNRI",
)
FORBIDDEN = re.compile(
    r"(?<!L)\b(A?GPL)|(?<!Lesser )General Public|SSPL|Commercial|Proprietary|NonCommercial|BY-NC", re.IGNORECASE
)
# Programs that only the tests run, that nothing of ours is built on and that are not given away with it: their licence
# binds those who give them away.
TEST_TOOLS = {"igraph": "read-back check of exported networks"}
# Read in the package's own licence file where its metadata are silent.
READ = {"python-pptx": "MIT", "texttable": "MIT", "ast_serialize": "MIT"}


@dataclass(frozen=True)
class Pinned:
    name: str
    version: str
    part: str  # the file that pins it


def pinned() -> list[Pinned]:
    """Every `name==version` of the requirement files."""
    found: dict[str, Pinned] = {}
    for file in ("requirements.txt", "requirements-login.txt", "requirements-dev.txt"):
        path = ROOT / file
        for line in path.read_text().splitlines() if path.exists() else []:
            match = re.fullmatch(r"([A-Za-z0-9_.-]+)==([^\s;#]+)\s*(?:[;#].*)?", line.strip())
            if match and match[1] not in found:
                found[match[1]] = Pinned(match[1], match[2], file)
    return list(found.values())


def licence_of(package: str) -> str:
    """What a package says of itself: SPDX expression, else classifiers, else the first line of its licence field."""
    try:
        about = metadata(package)
    except PackageNotFoundError:
        return "not installed"
    fields = dict(about.items())  # type: ignore[attr-defined]
    if fields.get("License-Expression"):
        return str(fields["License-Expression"])
    classified = [
        c.rpartition(" :: ")[2]
        for c in about.get_all("Classifier") or []
        if c.startswith("License :: ") and c != "License :: OSI Approved"
    ]
    if classified:
        return "; ".join(classified)
    told = str(fields.get("License") or "").strip().splitlines()
    return told[0][:80] if told and told[0] != "UNKNOWN" else READ.get(package, "not stated")


def is_compatible(licence: str) -> bool:
    """One acceptable choice of an OR is enough.

    >>> is_compatible("MIT"), is_compatible("GPL-3.0-or-later"), is_compatible("MIT OR GPL-2.0-only")
    (True, False, True)
    >>> is_compatible("LGPL-3.0-only"), is_compatible("not stated"), is_compatible("Apache-2.0 AND GPL-2.0")
    (True, False, False)
    """
    choices = re.split(r"\s+OR\s+", licence)
    return any(any(word in choice for word in COMPATIBLE) and not FORBIDDEN.search(choice) for choice in choices)


def render(packages: Iterable[tuple[Pinned, str]]) -> str:
    rows = sorted(packages, key=lambda row: (row[0].part != "requirements.txt", row[0].part, row[0].name.lower()))
    words = {"requirements.txt": "always", "requirements-login.txt": "for a login", "requirements-dev.txt": "for tests"}
    words |= {name: f"for tests only ({what})" for name, what in TEST_TOOLS.items()}
    lines = [f"| {p.name} | {p.version} | {licence} | {words.get(p.name, words[p.part])} |" for p, licence in rows]
    return (
        "# Licences of what TRNN Studio uses\n\nMade by `python scripts/licences.py` from what the installed packages"
        " say of themselves. TRNN Studio is under the MIT licence; all of these may be used by a program that is; one"
        " that only the tests run is under the GPL and is neither built on nor given away. Nothing of them is copied"
        " into this repository.\n\n| package | version | licence | needed |\n|---|---|---|---|\n"
        + "\n".join(lines)
        + "\n"
    )


def incompatible(packages: Iterable[tuple[Pinned, str]]) -> list[str]:
    """What may not be used; a test tool may, as long as only the requirements of the tests name it."""
    return [
        f"{p.name} {p.version}: {licence}"
        for p, licence in packages
        if not is_compatible(licence) and not (p.name in TEST_TOOLS and p.part == "requirements-dev.txt")
    ]


def main() -> int:
    found = [(p, licence_of(p.name)) for p in pinned()]
    wrong = incompatible(found)
    text = render(found)
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        wrong.append("docs/licences.md is not up to date; run `python scripts/licences.py`")
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    sys.stdout.write(f"{len(found)} packages, {len(wrong)} to look at.\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
