"""Hostile input in short: the saved corpus, bombs, names, pickles. The long forms are rows of `make stress`."""

from __future__ import annotations

import base64
import json

import pytest

from tests.fuzz.bombs import BOMBS, bomb_campaign
from tests.fuzz.mutate import INTERESTING, KINDS, OPTIONS, fuzz_campaign, read_case
from tests.fuzz.names import names_campaign
from tests.fuzz.pickles import pickle_campaign, static_campaign

HEAVY = ("unpacks", "30 million", "half a gigabyte")  # hundreds of megabytes are made first: for the long tests
SAVED = [json.loads(line) for line in INTERESTING.read_text().splitlines()]


def test_the_saved_corpus_is_read_or_refused_as_before(tmp_path):
    assert len(SAVED) > 100 and {case["mark"].partition(":")[0] for case in SAVED} >= set(KINDS)
    for case in SAVED:
        words = read_case(tmp_path / "f", base64.b64decode(case["data"]), case["options"])
        assert (words == "read") == case["read"], f"{case['mark']}: now {words}"


def test_damage_alone_decides_what_is_refused(tmp_path):
    """Every kind of file that is mutated is read with every set of options while it is whole."""
    for kind, data in KINDS.items():
        assert [read_case(tmp_path / "f", data, options) for options in OPTIONS] == ["read"] * len(OPTIONS), kind


def test_a_batch_of_new_ones(tmp_path):
    assert fuzz_campaign(tmp_path, 100, seed=11, at_once=1).failures == []


def test_small_files_do_not_unfold(tmp_path):
    light = tuple(name for name in BOMBS if not any(word in name for word in HEAVY))
    assert bomb_campaign(tmp_path, light).failures == []


def test_names_lead_nowhere(tmp_path, small_series):
    tally = names_campaign(tmp_path, small_series, pages=False)
    assert tally.failures == [] and tally.tried > 15


def test_nothing_unpickles(tmp_path, small_series):
    assert static_campaign().failures == []
    tally = pickle_campaign(tmp_path, small_series, every=40)
    assert tally.failures == [] and tally.tried >= 5


def test_the_planted_pickle_would_be_noticed(tmp_path):
    """The payload really works: whoever unpickles it makes the file."""
    import pickle

    from tests.fuzz.pickles import Payload

    pickle.loads(pickle.dumps(Payload(tmp_path / "executed"))).close()
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["packed zip", "packed gzip"])
def test_the_bombs_are_bombs(name):
    """They unpack more than the reader's limit of 200 times."""
    import gzip
    import io
    import zipfile

    from tests.fuzz.bombs import gzipped, packed

    if name == "packed zip":
        (member,) = zipfile.ZipFile(io.BytesIO(content := packed(megabytes=8))).infolist()
        assert member.file_size > 200 * len(content)
    else:
        assert len(gzip.decompress(content := gzipped(megabytes=8))) > 200 * len(content)
