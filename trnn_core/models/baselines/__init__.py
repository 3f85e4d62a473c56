"""Rivals every network must beat: ordinary forecasters with the same two verbs, `fit` and `forecast`."""
