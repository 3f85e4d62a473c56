"""The house stands as its plan says: import arrows, no Streamlit in the core, no torch behind the pages, no pickle,
and one tree in README, in the design and on disk."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "jobs",
    "data",
    "cells",
    "models",
    "evaluation",
    "training",
    "runs",
    "insight",
    "charts",
    "export",
    "verbs",
)
SIDE_BY_SIDE = {("cells", "data"), ("data", "cells")}  # neither knows the other
UNLISTED = {"runs", "logs", "__pycache__", "build", "dist"}  # made at run time, never committed

CORE = sorted((ROOT / "trnn_core").rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]
UI = sorted((ROOT / "ui").rglob("*.py"))
OURS = [*CORE, *PAGES, *UI]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path, everywhere: bool = True) -> tuple[tuple[str, int], ...]:
    """Absolute names of what a file imports, with the line; inside functions too when `everywhere`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree) if everywhere else _at_import(tree):
        if isinstance(node, ast.Import):
            found += [(a.name, node.lineno) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = module_of(path).split(".")
                here = here if path.name == "__init__.py" else here[:-1]
                base = ".".join([*here[: len(here) - node.level + 1], *([base] if base else [])])
            found += [(f"{base}.{a.name}", node.lineno) for a in node.names]
    return tuple(found)


def _at_import(node: ast.AST):
    """What runs when the module is imported: not the bodies of functions, not blocks for the type checker only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _at_import(child)


def wrong_arrows(path: Path) -> list[str]:
    """Imports that go against the direction of the data."""
    parts = path.relative_to(ROOT).parts
    wrong = [
        f"{name(path)}:{line} imports {target}"
        for target, line in imports(path)
        if target.startswith("trnn_core.cli") and parts[-1] != "__main__.py"  # made from the verbs; nobody needs it
    ]
    if parts[0] != "trnn_core":
        banned = {"ui": ("pages", "app"), "pages": ("pages", "app"), "app.py": ("pages",)}[parts[0]]
        return wrong + [
            f"{name(path)}:{line} imports {target}" for target, line in imports(path) if target.split(".")[0] in banned
        ]
    room = parts[1] if len(parts) > 2 else ""
    for target, line in imports(path):
        head = target.split(".")
        if head[0] in ("ui", "pages", "app", "streamlit"):
            wrong.append(f"{name(path)}:{line} imports {target}")
        if head[0] == "trnn_core" and len(head) > 1 and head[1] in ROOMS and room in ROOMS:
            later = ROOMS.index(head[1]) > ROOMS.index(room)
            if later or (room, head[1]) in SIDE_BY_SIDE:
                wrong.append(f"{name(path)}:{line} ({room}) imports {target}")
    return wrong


@pytest.mark.parametrize("path", OURS, ids=name)
def test_imports_follow_the_data(path: Path) -> None:
    assert wrong_arrows(path) == []


def test_the_arrow_check_sees_a_wrong_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "trnn_core" / "data"
    room.mkdir(parents=True)
    (room / "bad.py").write_text("def f():\n    from trnn_core.training import runs\n    import streamlit as st\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert len(wrong_arrows(room / "bad.py")) == 2
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "bad.py").write_text("from trnn_core.cli import main\n")
    assert len(wrong_arrows(tmp_path / "ui" / "bad.py")) == 1


def reachable(starts: list[Path]) -> dict[str, str]:
    """Third-party packages loaded by importing these files, each with the file of ours that asks for it."""
    files = {module_of(p): p for p in [*CORE, *UI]}
    seen: set[Path] = set()
    packages: dict[str, str] = {}
    queue = list(starts)
    while queue:
        path = queue.pop()
        if path in seen:
            continue
        seen.add(path)
        for target, _ in imports(path, everywhere=False):
            parts = target.split(".")
            homes = [".".join(parts[:i]) for i in range(1, len(parts) + 1)]
            ours = [files[h] for h in homes if h in files]
            queue += ours
            if not ours:
                packages.setdefault(parts[0], name(path))
    return packages


def test_pages_and_what_they_share_never_import_torch() -> None:
    assert "torch" not in reachable([*PAGES, *UI]), reachable([*PAGES, *UI])["torch"]


def test_torch_stays_out_of_a_process_that_imported_all_the_pages_import() -> None:
    wanted = sorted({t for p in [*PAGES, *UI] for t, _ in imports(p) if t.split(".")[0] in ("ui", "trnn_core")})
    code = (
        "import sys, json, importlib\n"
        f"for target in {wanted!r}:\n"
        "    module, _, member = target.rpartition('.')\n"
        "    try:\n        importlib.import_module(target)\n"
        "    except ModuleNotFoundError:\n        getattr(importlib.import_module(module), member)\n"
        "print(json.dumps('torch' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) is False


def test_pages_import_everything_first_and_nothing_beyond_it() -> None:
    """Visitors are threads, and two that import for the first time at once can break each other: see ui/everything.py."""
    ours: set[str] = set()
    for path in PAGES:
        found = [t for t, _ in imports(path) if t.split(".")[0] in ("ui", "trnn_core")]
        assert found[0] == "ui.everything", name(path)
        ours.update(found)
    code = (
        "import json, sys\nimport streamlit, ui.everything\n"
        f"print(json.dumps([t for t in {sorted(ours)!r} if not {{t, t.rpartition('.')[0]}} & set(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == []


PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


@pytest.mark.parametrize("path", [*OURS, *sorted((ROOT / "scripts").glob("*.py"))], ids=name)
def test_nothing_loads_a_pickle(path: Path) -> None:
    assert not [t for t, _ in imports(path) if t.split(".")[0] in PICKLES]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in {"torch.load", "torch.save", "pd.read_pickle", "pandas.read_pickle"}, (
                f"line {node.lineno}"
            )
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle":
                    assert ast.unparse(keyword.value) == "False", f"line {node.lineno}"


@pytest.mark.parametrize("path", OURS, ids=name)
def test_functions_fit_a_screen_and_modules_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 320
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            assert size <= 75, f"{node.name} has {size} lines"


MANY_ARGUMENTS = {"backtest"}  # the public verb: each is a choice of the person who calls it


@pytest.mark.parametrize("path", OURS, ids=name)
def test_a_function_takes_at_most_eight_arguments(path: Path) -> None:
    """More want a specification: a small frozen dataclass that is made once and handed on."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in MANY_ARGUMENTS:
            named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            counted = [a.arg for a in named if a.arg not in ("self", "cls")]
            assert len(counted) <= 8, f"{node.name} takes {', '.join(counted)}"


# Import name -> name on the package index, where they differ.
INDEX_NAMES = {
    "yaml": "pyyaml",
    "PIL": "pillow",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "pptx": "python-pptx",
}


def test_every_package_that_is_imported_is_pinned_exactly() -> None:
    pins = {}
    for file in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / file).read_text().splitlines():
            if line.strip() and not line.startswith(("#", "-r")):
                assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", line.strip()), f"{file}: {line}"
                package, version = line.strip().split("==")
                assert package.lower() not in pins, f"{package} is pinned twice"
                pins[package.lower().replace("_", "-")] = version
    known = set(sys.stdlib_module_names) | {"trnn_core", "ui", "pages", "app"}
    used = {t.split(".")[0] for p in OURS for t, _ in imports(p)} - known
    missing = {u for u in used if INDEX_NAMES.get(u, u).lower().replace("_", "-") not in pins}
    optional = {"ray", "dask", "distributed", "optuna"}
    assert missing - optional == set()


def tree_of(text: str) -> list[str]:
    """The paths of the code block that starts with app.py, one per line; two more spaces go one folder deeper."""
    block = next(b for b in re.findall(r"```[a-z]*\n(.*?)```", text, re.S) if b.startswith("app.py"))
    paths, folders = [], [""]
    for line in filter(str.strip, block.splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2
        entry = line.split()[0].rstrip(",")
        paths.append(folders[depth] + entry)
        folders = [*folders[: depth + 1], folders[depth] + entry]
    return paths


def test_the_tree_in_the_readme_is_the_tree_on_disk() -> None:
    listed = tree_of((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [p for p in listed if not (ROOT / p).exists()] == []
    top = {p.split("/")[0] for p in listed}
    there = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")} - UNLISTED
    assert there - top == set()


def test_readme_design_and_this_test_know_the_same_rooms() -> None:
    on_disk = {p.name for p in (ROOT / "trnn_core").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert on_disk == set(ROOMS)
    readme = rooms_of((ROOT / "README.md").read_text(encoding="utf-8"))
    assert readme == list(ROOMS)
    design = Path(os.environ.get("TRNN_SHARED", ROOT.parent / "shared")) / "DESIGN.md"
    if design.exists():
        assert rooms_of(design.read_text(encoding="utf-8")) == list(ROOMS)


def rooms_of(text: str) -> list[str]:
    return [p.split("/")[1] for p in tree_of(text) if re.fullmatch(r"trnn_core/[a-z]+/", p)]


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_is_an_empty_promise(room: str) -> None:
    lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in (ROOT / "trnn_core" / room).rglob("*.py"))
    assert lines > 20, f"trnn_core/{room} holds nothing"


@pytest.mark.parametrize("path", OURS, ids=name)
def test_a_percentage_is_written_in_one_way(path: Path) -> None:
    """'90 %' with a no-break space: by `percent`, never by Python's or plotly's own format, which give '90%'."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
    forms = {id(n.format_spec.values[0]) for n in ast.walk(tree) if isinstance(n, ast.FormattedValue) and n.format_spec}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            column = (
                re.fullmatch(r"\+?\.\d%", node.value) and id(node) not in forms
            )  # of a report's table: export/blocks.py
            assert column or not re.search(r"\d ?%(?!\w)", node.value), f"{name(path)}:{node.lineno}: {node.value!r}"


def test_no_two_modules_share_a_name() -> None:
    """A name in three rooms is a search in three rooms. Verbs are called as people call them, whatever else is."""
    seen: dict[str, list[str]] = {}
    for path in OURS:
        if path.name != "__init__.py" and "verbs" not in path.parts:
            seen.setdefault(path.name, []).append(name(path))
    assert {n: where for n, where in seen.items() if len(where) > 1} == {}


HOMES = {"trnn_core/runs/layout.py", "trnn_core/jobs/folder.py", "trnn_core/training/checkpoints.py"}


def names_on_disk() -> set[str]:
    """The files and folders of runs and jobs, as the modules that own their names spell them."""
    found = set()
    for home in HOMES:
        for node in ast.parse((ROOT / home).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign):
                found |= {n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)}
    return {
        n
        for n in found
        if isinstance(n, str) and re.fullmatch(r"\.?[a-z.]+\.(json|jsonl|npz|parquet|safetensors|txt)|\.[a-z]+", n)
    }


@pytest.mark.parametrize("path", OURS, ids=name)
def test_names_on_disk_are_spelt_in_one_place(path: Path) -> None:
    if name(path) in HOMES:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    spelt = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    assert spelt & (names_on_disk() - {".lock"}) == set()


def test_the_walks_through_the_house_name_files_that_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = text[text.index("## Two walks") : text.index("## The data flow")]
    known = {p.name for p in OURS} | {"hops.py"}
    named = re.findall(r"`(?:[a-z_/]*/)?([a-z_]+\.py)`|([a-z_]+\.py)`", walks)
    assert len(named) > 30 and {a or b for a, b in named} - known == set()


def test_the_glossary_has_at_most_thirty_words() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line for line in text[text.index("## Glossary") :].splitlines() if line.startswith("| ")][1:]
    assert 10 < len(rows) <= 30 and rows == sorted(rows)
