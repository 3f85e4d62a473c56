"""Known holes in what is pinned, where a database of advisories is to be had.

python scripts/audit.py                      the databases that are installed here
python scripts/audit.py FOLDER_OR_ZIP        and files in the OSV format (as pip-audit uses; *.json, or a zip of them)

Nothing is fetched: a server room may have no network, and the answer must not depend on it.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[1]
SHELF = ROOT / ".advisories"  # `make advisories` puts a database there, outside of what is pinned
sys.path.insert(0, str(ROOT))

from scripts.licences import Pinned, pinned  # noqa: E402


@dataclass(frozen=True)
class Advisory:
    package: str
    name: str
    affected: str  # a version specifier


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_safety(path: Path) -> Iterator[Advisory]:
    """The database of the package safety-db."""
    for package, entries in json.loads(path.read_text()).items():
        for entry in entries if isinstance(entries, list) else []:
            for spec in entry.get("specs", []):
                yield Advisory(normal(package), entry.get("cve") or entry.get("id") or "?", spec)


def read_osv(text: str) -> Iterator[Advisory]:
    """One advisory in the OSV format."""
    told = json.loads(text)
    for affected in told.get("affected", []):
        package = affected.get("package", {})
        if package.get("ecosystem") != "PyPI":
            continue
        for version in affected.get("versions", []):
            yield Advisory(normal(package["name"]), told["id"], f"=={version}")
        for span in affected.get("ranges", []):
            begin = "0"
            for event in span.get("events", []):
                begin = event.get("introduced", begin)
                if end := event.get("fixed"):
                    yield Advisory(normal(package["name"]), told["id"], f">={begin},<{end}")


def databases(given: Path | None = None) -> dict[str, list[Advisory]]:
    """What is to be had here, by name."""
    found: dict[str, list[Advisory]] = {}
    for package in distributions(name="safety-db", path=[str(SHELF), *sys.path]):
        path = Path(str(package.locate_file("safety_db"))) / "insecure_full.json"
        found[f"safety-db of {package.version}"] = list(read_safety(path))
    if given is not None and given.is_dir():
        found[given.name] = [a for p in sorted(given.rglob("*.json")) for a in read_osv(p.read_text())]
    elif given is not None:
        with zipfile.ZipFile(given) as archive:
            found[given.name] = [
                a for n in archive.namelist() if n.endswith(".json") for a in read_osv(archive.read(n).decode())
            ]
    return found


def hits(packages: Iterable[Pinned], advisories: Iterable[Advisory]) -> list[str]:
    """Pinned versions that an advisory names.

    >>> old = [Pinned("Pillow", "8.0.0", "requirements.txt")]
    >>> hits(old, [Advisory("pillow", "CVE-2021-25289", "<8.1.0"), Advisory("pillow", "other", ">=9")])
    ['Pillow 8.0.0: CVE-2021-25289']
    """
    by_name = {normal(p.name): p for p in packages}
    found = []
    for advisory in advisories:
        package = by_name.get(advisory.package)
        if package is None:
            continue
        try:
            affected = SpecifierSet(advisory.affected).contains(Version(package.version), prereleases=True)
        except (InvalidSpecifier, InvalidVersion):
            continue
        if affected:
            found.append(f"{package.name} {package.version}: {advisory.name}")
    return sorted(set(found))


def main() -> int:
    packages, wrong = pinned(), 0
    known = databases(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    if not known:
        sys.stdout.write("No database of advisories here: `make advisories`, or name a folder of OSV files.\n")
        return 2
    for name, advisories in known.items():
        found = hits(packages, advisories)
        wrong += len(found)
        sys.stdout.write(f"{name}: {len(advisories)} entries, {len(packages)} pinned packages, {len(found)} hits.\n")
        sys.stdout.write("".join(f"  {line}\n" for line in found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
