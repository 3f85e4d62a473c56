"""Login, where the server's settings ask for one; without such settings everybody who reaches the page may use it.

`.streamlit/secrets.toml` names the provider in `[auth]` (docs/server.md) and, if not all of its accounts are welcome,
who may enter in `[access]`: `allow = ["ana@lab.example", "@lab.example"]`.
"""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from trnn_core.errors import TRNNError
from ui.door import visitors
from ui.guard import guarded
from ui.phrases import escape


def is_welcome(email: str | None, allow: Iterable[str]) -> bool:
    """Whether an address is on the list, by itself or by its domain; an empty list is everybody.

    >>> is_welcome("Ana@Lab.example", ["@lab.example"]), is_welcome("eve@elab.example", ["@lab.example"])
    (True, False)
    >>> is_welcome(None, ["@lab.example"]), is_welcome(None, [])
    (False, True)
    """
    wanted = [entry.strip().casefold() for entry in allow]
    if not wanted:
        return True
    address = (email or "").casefold()
    return address in wanted or f"@{address.rpartition('@')[2]}" in wanted


def needs_login() -> bool:
    """Whether a provider is named; no settings at all means no."""
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False


def gate() -> None:
    """Stops here unless the visitor is known and welcome; only who passes may hand in files (`ui.door`)."""
    if needs_login():
        _ask()
    visitors.let_in(_session())


def _session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _turn_away() -> None:
    visitors.turn_away(_session())
    st.stop()


def _ask() -> None:
    if not st.user.is_logged_in:
        st.title("TRNN Studio")
        st.write("Please log in with your account to see data and forecasts.")
        st.button(
            "Log in",
            type="primary",
            icon=":material/login:",
            on_click=guarded(st.login),
            help="Leads to your organisation's login and back.",
        )
        _turn_away()
    email = st.user.get("email")
    if not is_welcome(str(email) if email else None, allowed()):
        st.error(
            f"The account {escape(str(email))} may not use this server; ask whoever runs it.", icon=":material/block:"
        )
        st.button("Log out", on_click=guarded(st.logout), help="To log in with another account.")
        _turn_away()
    with st.sidebar:
        st.caption(escape(str(email or st.user.get("name") or "logged in")))
        st.button("Log out", on_click=guarded(st.logout), help="Ends the session in this browser.")


def allowed() -> list[str]:
    """Who may enter; a list that cannot be read keeps everybody out instead of letting everybody in."""
    section = st.secrets.get("access", {})
    listed = section.get("allow", [])
    if not isinstance(listed, list | tuple) or not all(isinstance(entry, str) and "@" in entry for entry in listed):
        raise TRNNError("[access] allow in secrets.toml must be a list of addresses or @domains; correct the file.")
    if section and not listed:
        raise TRNNError("[access] in secrets.toml must say who may enter, in `allow`; correct the file or remove it.")
    return list(listed)
