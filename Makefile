# make app      the dashboard, on http://localhost:8501          make app PORT=8600
# make test     everything that must hold, in at most ten minutes
# make stress   the long tests (faults, load, hostile input) in under an hour; STRESS="--short" in a few minutes
# make bench    every benchmark of benchmarks/, one after the other
# make lint     only style and types;   make format   puts the style right
# make clean    removes .venv and caches, never data or runs
#
# PYTHON=/path/to/python3 chooses the interpreter, PIP_FLAGS="..." is handed to pip (README: the CPU build of torch).

ifeq ($(OS),Windows_NT)
VENV_PYTHON := .venv/Scripts/python.exe
else
VENV_PYTHON := .venv/bin/python
endif
PYTHON ?=
WORKERS ?= 2
# One thread per process: several processes with several threads each are many times slower.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export PIP_FLAGS PORT

.PHONY: app test stress postgres bench lint format clean install install-dev browser demo screenshots

install:
	@python=$$(sh scripts/find_python.sh $(PYTHON)) && "$$python" scripts/setup_venv.py requirements.txt

install-dev:
	@python=$$(sh scripts/find_python.sh $(PYTHON)) && "$$python" scripts/setup_venv.py requirements-dev.txt

app: install
	@$(VENV_PYTHON) scripts/start_app.py

browser: install-dev
	@$(VENV_PYTHON) scripts/find_browser.py >/dev/null

lint: install-dev
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy

format: install-dev
	@$(VENV_PYTHON) -m ruff check --fix .
	@$(VENV_PYTHON) -m ruff format .

# The browser tests stay together on one of the workers (tests/conftest.py), the rest is dealt out.
test: lint browser
	@$(ONE_THREAD) $(VENV_PYTHON) -m pytest -m "not slow" -n $(WORKERS) --dist loadgroup --timeout 300

# A PostgreSQL server for the long tests; without it they are skipped and say so. Needs Debian or Ubuntu and root.
postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || apt-get install -y --no-install-recommends postgresql || echo "no PostgreSQL: its tests will be skipped"

stress: lint browser postgres
	@$(ONE_THREAD) $(VENV_PYTHON) scripts/stress.py $(STRESS)

bench: install-dev
	@$(VENV_PYTHON) scripts/run_benchmarks.py

screenshots: browser
	@$(VENV_PYTHON) docs/screenshots/make.py

clean:
	rm -rf .venv .setup.log .setup.lock .start.lock .pytest_cache .ruff_cache .mypy_cache .hypothesis
