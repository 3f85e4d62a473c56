"""Event files in the documented layouts, written for tests."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ICEWS = (
    "Event ID",
    "Event Date",
    "Source Name",
    "Source Sectors",
    "Source Country",
    "Event Text",
    "CAMEO Code",
    "Intensity",
    "Target Name",
    "Target Sectors",
    "Target Country",
    "Story ID",
    "Sentence Number",
    "Publisher",
    "City",
    "District",
    "Province",
    "Country",
    "Latitude",
    "Longitude",
)
POLECAT = (
    "Event ID",
    "Event Date",
    "Event Type",
    "Event Mode",
    "Intensity",
    "Quad Code",
    "Contexts",
    "Actor Name",
    "Actor Country",
    "Actor COW",
    "Primary Actor Sector",
    "Actor Sectors",
    "Actor Title",
    "Actor Name Raw",
    "Wikipedia Actor ID",
    "Recipient Name",
    "Recipient Country",
    "Recipient COW",
    "Primary Recipient Sector",
    "Recipient Sectors",
    "Recipient Title",
    "Recipient Name Raw",
    "Wikipedia Recipient ID",
    "Placename",
    "City",
    "District",
    "Province",
    "Country",
    "Latitude",
    "Longitude",
    "GeoNames ID",
    "Raw Placename",
    "Feature Type",
    "Source",
    "Publication Date",
    "Story People",
    "Story Organizations",
    "Story Locations",
    "Language",
    "Version",
)


def icews_row(day: str, source: str, code: str, target: str, **more: str) -> str:
    """A row with the countries as names too, so that two equal rows are one event."""
    fields = {
        "Event ID": "1",
        "Event Date": day,
        "Source Name": f"Citizen ({source})",
        "Source Country": source,
        "Event Text": f"text of {code}",
        "CAMEO Code": code,
        "Intensity": "1.0",
        "Target Name": f"Citizen ({target})",
        "Target Country": target,
    } | {k.replace("_", " "): v for k, v in more.items()}
    return "\t".join(fields.get(c, "") for c in ICEWS)


def icews_text(rows: Iterable[str]) -> str:
    return "\n".join(("\t".join(ICEWS), *rows)) + "\n"


def polecat_row(day: str, source: str, quad: str, target: str, **more: str) -> str:
    fields = {
        "Event ID": "1",
        "Event Date": day,
        "Event Type": "CONSULT",
        "Event Mode": "meet",
        "Intensity": "2.0",
        "Quad Code": quad,
        "Actor Name": f"leader of {source}",
        "Actor Country": source,
        "Recipient Name": f"leader of {target}",
        "Recipient Country": target,
    } | {k.replace("_", " "): v for k, v in more.items()}
    return "\t".join(fields.get(c, "None") for c in POLECAT)


def polecat_text(rows: Iterable[str], intensity: str = "Intensity") -> str:
    header = "\t".join(POLECAT).replace("\tIntensity\t", f"\t{intensity}\t")
    return "\n".join((header, *rows)) + "\n"


def gdelt_row(number: int, day: str, source: str, code: str, quad: str, target: str, width: int = 58) -> str:
    fields = [""] * width
    fields[0], fields[1], fields[7], fields[17], fields[25] = str(number), day, source, target, "1"
    fields[26], fields[27], fields[28], fields[29] = code, code[:3], code[:2], quad
    fields[30], fields[31], fields[34] = "-2.0", "4", "1.5"
    return "\t".join(fields)


def write(path: Path, content: str | bytes) -> Path:
    """Plain, or packed as the name says (.gz, .zip)."""
    data = content.encode() if isinstance(content, str) else content
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(path.with_suffix("").name, data)
    else:
        path.write_bytes(data)
    return path


def cell(series, day: str, source: str, target: str, action: str) -> float:  # type: ignore[no-untyped-def]
    """One value, found by its labels."""
    t = [str(d) for d in series.dates].index(day)
    return float(
        series.values[t, series.actors.index(source), series.actors.index(target), series.actions.index(action)]
    )


def accounted(report: dict) -> bool:
    """Every row read is used, a repeat, or dropped for a named reason."""
    left_out: Sequence[int] = [d["rows"] for d in report["dropped"]]
    return report["rows_read"] + report["extra_dyads"] == report["rows_used"] + report["duplicates"] + sum(left_out)
