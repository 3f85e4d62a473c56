"""The address bar holds the view: a link opens the same for somebody else. What a link asks for in vain is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import streamlit as st

NEW, NOTES, DRAWN = "link_is_new", "link_notes", "link_drawn"


def open_link(page: str) -> None:
    """At the start of a page: only the first look at it judges its link; later the controls have the word."""
    st.session_state[NEW] = st.session_state.get("page_open") != page
    if st.session_state[NEW]:
        st.session_state[DRAWN] = set()
    st.session_state["page_open"] = page
    st.session_state[NOTES] = []


def close_link(place: st.delta_generator.DeltaGenerator) -> None:
    """At the end of a page: one sentence for everything the link asked for that is not there."""
    notes = st.session_state.get(NOTES) or []
    if notes:
        shown = ", ".join(notes[:4]) + (" and more" if len(notes) > 4 else "")
        place.warning(
            f"This link asks for {shown}, which {'is' if len(notes) == 1 else 'are'} not here; the usual choice is"
            " shown instead.",
            icon=":material/link_off:",
        )
    st.session_state[NEW] = False


def judge(key: str, known: Collection[str] | Callable[[str], bool], label: str) -> None:
    """Before a control is drawn: remember what the link asks for in vain."""
    if not st.session_state.get(NEW, False):
        return
    fits = known if callable(known) else known.__contains__
    for asked in st.query_params.get_all(key):
        if not fits(asked):
            st.session_state.setdefault(NOTES, []).append(f"{label.lower()} '{asked[:60]}'")


def is_number(low: float, high: float) -> Callable[[str], bool]:
    """
    >>> [is_number(5, 300)(text) for text in ("60", "7000", "many")]
    [True, False, False]
    """

    def fits(text: str) -> bool:
        try:
            return low <= float(text) <= high
        except ValueError:
            return False

    return fits


def begin_with(key: str, options: Sequence[str], default: str) -> bool:
    """Give a control its first value, by the link or by default; True when it was needed.

    The page before may have had a control of the same key: its value can still be read, but the new control does not
    take it up.
    """
    drawn = st.session_state.setdefault(DRAWN, set())
    if key in drawn and st.session_state.get(key) in options:
        return False
    asked = st.query_params.get(key)
    st.session_state[key] = asked if asked in options else default
    drawn.add(key)
    return True


def linked(
    label: str, options: Sequence[str], key: str, default: str, words: str, name: Callable[[str], str] = str
) -> str:
    """A choice that is always in the address bar, the default too: what is the default may change with newer runs."""
    judge(key, options, label)
    begin_with(key, options, default)
    chosen = st.selectbox(label, options, format_func=name, key=key, help=words)
    if st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    return chosen


def segments(
    label: str, options: Sequence[str], key: str, words: str, *, default: str | None = None, hidden: bool = False
) -> str:
    """A row of buttons, one of them pressed; in the address bar unless it is the default."""
    judge(key, options, label)
    first = default or options[0]
    chosen = st.segmented_control(
        label,
        options,
        default=first,
        required=True,
        wrap=True,
        key=key,
        bind="query-params",
        help=words,
        label_visibility="collapsed" if hidden else "visible",
    )
    return chosen or first


def select(label: str, options: Sequence[str], key: str, words: str, name: Callable[[str], str] = str) -> str:
    """A list to choose from; in the address bar, by its words, unless it is the first."""
    judge(key, [name(o) for o in options], label)
    return st.selectbox(label, options, format_func=name, key=key, bind="query-params", help=words)
