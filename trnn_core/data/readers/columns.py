"""Which column of a table is the date, the source, the target, the action and the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trnn_core.errors import TRNNError

ROLES = ("date", "source", "target", "action", "value")
_USUAL = {
    "date": "date eventdate day week month year time period sqldate weekstart startdate t",
    "source": (
        "source src sender from actor1 sourcecountry sourceactor actor country1 ccode1 iso1 stateA sidea origin "
        "initiator exporter sourcename actor1countrycode i"
    ),
    "target": (
        "target tgt dst receiver recipient to actor2 targetcountry targetactor country2 ccode2 iso2 stateb sideb "
        "destination importer targetname actor2countrycode j"
    ),
    "action": (
        "action actions type eventtype relation quad quadclass class category cameo cameocode code eventcode verb "
        "layer event k"
    ),
    "value": "value values count counts n number weight intensity score amount freq frequency events total x",
}


def match_columns(header: Sequence[str], name: str, chosen: Mapping[str, str]) -> dict[str, str]:
    """Role -> column, by the user's choice or by the usual names; what is not certain is asked.

    >>> match_columns(["Week", "Sender", "Receiver", "n"], "x.csv", {})
    {'date': 'Week', 'source': 'Sender', 'target': 'Receiver', 'value': 'n'}
    """
    unknown = [r for r in chosen if r not in ROLES]
    if unknown:
        raise TRNNError(f"Columns are chosen for {', '.join(ROLES)}. Got {unknown[0]!r} instead.")
    roles: dict[str, str] = {}
    for role in ROLES:
        if role in chosen:
            if header.count(chosen[role]) != 1:
                raise TRNNError(
                    f"{name}, line 1: the {role} column {chosen[role]!r} must be in the header once. The header has:"
                    f" {_told(header)}."
                )
            roles[role] = chosen[role]
            continue
        usual = _USUAL[role].lower().split()
        fits = [c for c in header if _plain(c) in usual and c not in chosen.values()]
        exact = [c for c in fits if _plain(c) == role]
        fits = exact or fits
        if len(fits) > 1:
            raise TRNNError(
                f"{name}, line 1: one column must be the {role}. Got {_told(fits)}; choose one with columns={{'{role}':"
                " ...}."
            )
        if fits:
            roles[role] = fits[0]
    lacking = [r for r in ROLES[:3] if r not in roles]
    if lacking:
        raise TRNNError(
            f"{name}, line 1: a table needs a header with a date, a source and a target column. No column looks like"
            f" {' or '.join(lacking)}; the header has: {_told(header)}."
        )
    doubled = [c for c in roles.values() if list(header).count(c) > 1 or list(roles.values()).count(c) > 1]
    if doubled:
        raise TRNNError(f"{name}, line 1: each column must be named once and have one role. {doubled[0]!r} has not.")
    return roles


def _plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _told(header: Sequence[str]) -> str:
    shown = ", ".join(repr(c[:30]) for c in header[:12])
    return shown + (f" and {len(header) - 12} more" if len(header) > 12 else "")
