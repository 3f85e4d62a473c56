"""Countries: one identity for many spellings; what is uncertain is listed with suggestions and never guessed."""

from __future__ import annotations

import csv
import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared_data import shared_file
from trnn_core.data.corrections import add_corrections, load_corrections, save_corrections
from trnn_core.data.countries import SCHEMES, actors, by_name, correction_key, normalise, resolve, resolve_many
from trnn_core.data.simulated_world import COUNTRIES
from trnn_core.errors import TRNNError
from trnn_core.words import closest


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Russian Federation", "Russian Federation"),
        ("Russia", "Russian Federation"),
        ("Moldova, Republic of", "Moldova"),
        ("the former Yugoslav Republic of Macedonia", "North Macedonia"),
        ("Democratic Republic of Congo", "Democratic Republic of the Congo"),
        ("Cote d'Ivoire", "Côte d'Ivoire"),
        ("CÔTE D’IVOIRE", "Côte d'Ivoire"),
        ("Korea, South", "South Korea"),
        ("Korea, Democratic People's Republic of", "North Korea"),
        ("Viet Nam", "Vietnam"),
        ("  united   states of america ", "United States"),
        ("U.S.A.", "United States"),
        ("St. Kitts & Nevis", "Saint Kitts and Nevis"),
        ("Türkiye", "Turkey"),
        ("Swaziland", "Eswatini"),
        ("Burma", "Myanmar"),
        ("Zaire", "Democratic Republic of the Congo"),
        ("Palestine", "Occupied Palestinian Territory"),
        ("Vatican City", "Holy See"),
        ("Hong Kong", "Hong Kong"),
        ("Kosovo", "Kosovo"),
        ("Taiwan, Province of China", "Taiwan"),
        ("USSR", "Soviet Union"),
        ("German Democratic Republic", "East Germany"),
        ("Czechoslovakia", "Czechoslovakia"),
        ("Yugoslavia", "Yugoslavia"),
        ("Serbia and Montenegro", "Serbia and Montenegro"),
        ("Guinea", "Guinea"),
        ("Niger", "Niger"),
        ("Nigeria", "Nigeria"),
        ("Dominica", "Dominica"),
        ("Dominican Republic", "Dominican Republic"),
        ("DEU", "Germany"),
        ("USA", "United States"),
        ("US", "United States"),
        ("UKG", "United Kingdom"),
    ],
)
def test_the_usual_spellings(spelling: str, name: str) -> None:
    assert resolve(spelling).name == name


@pytest.mark.parametrize(
    ("code", "scheme", "name"),
    [
        ("AUS", "iso3", "Australia"),
        ("AUS", "cow", "Austria"),
        ("SWZ", "iso3", "Eswatini"),
        ("SWZ", "cow", "Switzerland"),
        ("AU", "iso2", "Australia"),
        ("AU", "fips", "Austria"),
        ("NA", "iso2", "Namibia"),
        ("CZE", "cow", "Czechoslovakia"),
        ("2", "cow", "United States"),
        ("365", "cow", "Russian Federation"),
        ("265", "cow", "East Germany"),
        ("ROM", "cameo", "Romania"),
        ("ROU", "cameo", "Romania"),
        ("TMP", "cameo", "Timor-Leste"),
        ("WSB", "cameo", "West Bank"),
        ("SAF", "cameo", "Southern Africa"),
        ("SAF", "cow", "South Africa"),
        ("AFR", "cameo", "Africa"),
        ("Congo", "icews", "Republic of the Congo"),
        ("Germany", "iso3", "Germany"),
    ],
)
def test_codes_mean_what_their_scheme_says(code: str, scheme: str, name: str) -> None:
    assert resolve(code, scheme).name == name


@pytest.mark.parametrize(
    ("spelling", "candidates"),
    [
        ("Korea", {"North Korea", "South Korea"}),
        ("Congo", {"Republic of the Congo", "Democratic Republic of the Congo"}),
        ("AUS", {"Australia", "Austria"}),
        ("AU", {"Australia", "Austria"}),
        ("GB", {"United Kingdom", "Gabon"}),
        ("CZE", {"Czechia", "Czechoslovakia"}),
        ("Virgin Islands", {"British Virgin Islands", "United States Virgin Islands"}),
        ("YUG", {"Yugoslavia", "Serbia"}),
    ],
)
def test_the_ambiguous_is_listed_and_not_guessed(spelling: str, candidates: set[str]) -> None:
    match = resolve(spelling)
    assert match.name is None and set(match.suggestions) == candidates and match.reason.startswith("ambiguous")


@pytest.mark.parametrize(
    ("spelling", "suggestion"),
    [
        ("Nigerr", "Niger"),
        ("Phillipines", "Philippines"),
        ("Chekoslovakia", "Czechoslovakia"),
        ("Great Brittain", "United Kingdom"),
        ("Untied States", "United States"),
        ("England", "United Kingdom"),
        ("Saudi", "Saudi Arabia"),
        ("Rusia", "Russian Federation"),
    ],
)
def test_the_misspelt_is_suggested_and_not_taken(spelling: str, suggestion: str) -> None:
    match = resolve(spelling)
    assert match.name is None and match.suggestions[0] == suggestion and len(match.suggestions) <= 5


def test_numbers_and_marks_for_missing_are_asked_about() -> None:
    assert resolve("840").name is None  # the Philippines in COW, the United States in ISO's numbers
    for text in ("", " ", "NA", "None", "nan", "---"):
        assert resolve(text).name is None, text
    assert resolve_many(["US", "DE", "FR", "NA", "GB"]).mapping == {
        "US": "United States",
        "DE": "Germany",
        "FR": "France",
        "GB": "United Kingdom",
    }


def table_spellings() -> list[tuple[str, str]]:
    return [(text, a.name) for a in actors() for text in (a.name, a.icews, *a.aliases)]


def test_every_spelling_of_the_table_leads_home_or_is_ambiguous() -> None:
    ambiguous = {text for text, name in table_spellings() if resolve(text).name is None}
    assert ambiguous == {"Congo", "Korea", "Saint Martin", "Virgin Islands"}
    for text, name in table_spellings():
        assert text in ambiguous or resolve(text).name == name, text
    assert all(resolve(a.name).name == a.name for a in actors())  # a readable name stays what it is
    for scheme in ("iso2", "iso3", "cow", "cameo", "fips", "icews"):
        for a in actors():
            code = getattr(a, scheme)
            if code and code not in ("CS", "345"):  # two successor states, two names of one COW number
                assert resolve(code, scheme).name == a.name, (scheme, code)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(table_spellings()), st.data())
def test_a_changed_spelling_is_never_taken_for_a_country(pair, data) -> None:
    """Drop, double or change a letter: the result is another listed spelling, or it is asked about."""
    text = pair[0]
    at = data.draw(st.integers(0, len(text) - 1))
    with_letter = data.draw(st.sampled_from(["", text[at] * 2, "x"]))
    changed = text[:at] + with_letter + text[at + 1 :]
    match = resolve(changed)
    if match.name is not None:
        spellings = {normalise(s) for s, name in table_spellings() if name == match.name}
        row = by_name(match.name)
        assert row is not None
        own_codes = {normalise(c) for c in (row.iso2, row.iso3, row.cow_abbreviation, row.cameo, row.fips)}
        assert normalise(changed) in spellings | own_codes


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.sampled_from([None, *SCHEMES]))
def test_any_text_gets_an_answer(text: str, scheme) -> None:
    match = resolve(text, scheme)
    assert match.name is not None or match.reason


def test_one_list_one_scheme() -> None:
    iso = resolve_many(["AUS", "CZE", "DEU", "FRA"])
    assert iso.scheme == "iso3" and iso.mapping["AUS"] == "Australia" and not iso.unknown
    cow = resolve_many(["AUS", "CZE", "GMY", "FRN"])
    assert cow.scheme == "cow" and cow.mapping["AUS"] == "Austria"
    unclear = resolve_many(["AUS", "CZE"])
    assert unclear.mapping == {} and {u.name for u in unclear.unknown} == {"AUS", "CZE"}
    mixed = resolve_many(["AUS", "GMY", "DEU"])  # neither scheme explains both of the others
    assert [u.name for u in mixed.unknown] == ["AUS"] and mixed.mapping == {"GMY": "Germany", "DEU": "Germany"}
    with_names = resolve_many(["AUS", "DEU", "Zaire", "Wakanda", "European Union"])
    assert with_names.mapping["Zaire"] == "Democratic Republic of the Congo"
    assert [u.name for u in with_names.unknown] == ["Wakanda", "European Union"]


def test_a_long_list_of_other_actors_is_no_burden() -> None:
    names = [f"Group {i} of somewhere" for i in range(20_000)]
    start = time.perf_counter()
    result = resolve_many([*names, "France"])
    assert len(result.unknown) == 20_000 and result.mapping == {"France": "France"}
    assert time.perf_counter() - start < 20


def test_the_countries_of_the_demo_are_readable_names_of_the_table() -> None:
    for name, _, _ in COUNTRIES:
        assert resolve(name).name == resolve(name, "icews").name == name


def test_real_icews_names_are_known_but_for_bavaria() -> None:
    names: set[str] = set()
    for file in sorted(shared_file("raw_icews").glob("*.tab")):
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                names |= {row["Source Country"], row["Target Country"], row["Country"]}
    result = resolve_many(sorted(names), "icews")
    assert {u.name for u in result.unknown} == {"", "Bavaria"} and len(result.mapping) > 150
    assert len(set(result.mapping.values())) == len(result.mapping)


@pytest.mark.parametrize(
    "name", ["icews_yearly_152_quad", "icews0515_weekly_hoff25_quad", "keds_levant_weekly_16_quad"]
)
def test_real_tensors_codes_are_all_known(name: str) -> None:
    with np.load(shared_file(f"{name}.npz"), allow_pickle=False) as file:
        codes = [str(a) for a in file["actors"]]
    result = resolve_many(codes)
    assert result.scheme == "iso3" and not result.unknown and len(set(result.mapping.values())) == len(codes)


def test_the_table_is_complete_and_consistent() -> None:
    states = actors("state")
    assert len(states) == 193 + 4  # the members of the United Nations, Holy See, Palestine, Taiwan, Kosovo
    assert len({a.id for a in actors()}) == len({a.name for a in actors()}) == len(actors())
    for a in states:
        assert len(a.iso2) == 2 and len(a.iso3) == 3
        assert a.cow.isdigit() or a.name in ("Holy See", "Occupied Palestinian Territory")  # not in COW's system
    for a in actors():  # a short alias must not be somebody else's code
        for alias in a.aliases:
            if len(normalise(alias)) <= 3:
                for scheme in ("iso2", "iso3", "cow", "cameo", "fips"):
                    assert resolve(normalise(alias), scheme).name in (None, a.name), alias


def test_codes_against_pycountry() -> None:
    pycountry = pytest.importorskip("pycountry", reason="pycountry is not installed; it only serves as an oracle here")
    for country in pycountry.countries:
        by_code = {resolve(country.alpha_2, "iso2").name, resolve(country.alpha_3, "iso3").name}
        assert len(by_code) == 1 and None not in by_code, country
        for text in {country.name, getattr(country, "official_name", country.name)} - {"Congo"}:
            assert {resolve(text).name} == by_code, text


def test_corrections_are_kept_and_used_again(tmp_path) -> None:
    path = tmp_path / "settings" / "countries.json"
    names = ["Korea", "Wakanda", "Hezbollah", "France"]
    assert load_corrections(path) == {}
    add_corrections(path, {"Korea": "South Korea", "Hezbollah": "Hezbollah"})
    corrections = add_corrections(path, {"Wakanda": "Wakanda (fictional)"})
    result = resolve_many(names, corrections=load_corrections(path))
    assert corrections == load_corrections(path) and not result.unknown
    assert result.mapping["Korea"] == "South Korea" and result.mapping["Hezbollah"] == "Hezbollah"
    assert result.mapping["Wakanda"] == "Wakanda (fictional)" and result.mapping["France"] == "France"
    assert resolve("Korea", corrections=corrections).actor == by_name("South Korea")
    assert resolve("Hezbollah", corrections=corrections).actor is None  # an actor of its own
    assert [p.name for p in path.parent.iterdir()] == ["countries.json"]


def test_a_corrected_code_holds_for_its_scheme_only() -> None:
    corrections = {correction_key("345", "cow"): "Serbia", correction_key("AUS"): "Austria"}
    assert resolve("345", "cow", corrections).name == "Serbia"
    assert resolve("AUS", None, corrections).name == "Austria"
    assert resolve("AUS", "iso3", corrections).name == "Australia"


def test_damaged_corrections_are_told_and_not_overwritten(tmp_path) -> None:
    path = tmp_path / "countries.json"
    for text in ("{", "[1, 2]", json.dumps({"Korea": 3}), json.dumps({"Korea": " "})):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(TRNNError, match=r"countries.json: must"):
            add_corrections(path, {"Congo": "Republic of the Congo"})
        assert path.read_text(encoding="utf-8") == text
    with pytest.raises(TRNNError, match="'Korea' must be given a name"):
        save_corrections({"Korea": ""}, path)
    with pytest.raises(TRNNError, match="cannot be written"):
        save_corrections({"Korea": "South Korea"}, path / "below" / "a_file")


def test_an_unknown_scheme_is_told() -> None:
    with pytest.raises(TRNNError, match=r"one of name, icews, iso2.*Got 'gwn'"):
        resolve("2", "gwn")


def test_likeness_suggests_the_nearest_first_and_nothing_that_is_far() -> None:
    names = {name.lower(): name for name in ("Iran", "Iraq", "Ireland", "Peru", "North Korea", "North Macedonia")}
    assert closest("iarn", names)[0] == "Iran"
    assert closest("iran", names)[0] == "Iran"
    assert closest("xyzzy", names) == () == closest("", names)
    korea = {"korea": "Korea"}
    assert closest("zzzzzzzzzzzzzzz korea", korea) == ("Korea",)
    assert closest("zzzzzzzzzzzzzzz korea", korea, frozenset(["korea"])) == (), "a common word makes none alike"
