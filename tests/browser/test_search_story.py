"""A search for good settings by clicking: run to its end, its pictures drawn, its recipe written, and trained with."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from scripts.serve import Server
from tests.jobs.ending import until
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import read_recipe


@pytest.mark.slow
def test_a_search_runs_to_its_end_and_its_best_settings_are_trained(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Train")
    page.get_by_text("Search for good settings").click()
    for name, value in (("Trials", "6"), ("Epochs each", "2")):
        page.get_by_role("spinbutton", name=name).fill(value)
        page.keyboard.press("Enter")
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.get_by_role("button", name="Start search").click()
    page.get_by_text("6 of 6", exact=True).wait_for(timeout=180_000)
    titles = page.locator(".stPlotlyChart .gtitle")
    expect(titles.filter(has_text="Trials")).to_have_count(1)
    expect(titles.filter(has_text="What mattered")).to_have_count(1)
    store = RunStore(server.runs)
    (recipe,) = store.root.glob(".studies/*/recipe.toml")
    before = {run.run_id for run in store.runs()}
    page.get_by_role("button", name="Train with these").click()
    until(lambda: len(store.runs()) > len(before), "a run must be queued", 60)
    (new,) = [run for run in store.runs() if run.run_id not in before]
    until(lambda: new.status().state == "finished", "the run must be trained", 120)
    assert new.recipe.train == read_recipe(recipe).train
