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

.PHONY: app test stress postgres tools advisories bench lint format clean install install-dev browser demo screenshots

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

# What the long tests try for real; what is not to be had is not tried, and the table says so. Needs Debian or Ubuntu and root.
APT := apt-get install -y --no-install-recommends
postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || $(APT) postgresql || echo "no PostgreSQL: its tests will be skipped"

tools: postgres
	@PATH="$$PATH:/usr/sbin" command -v nginx >/dev/null || $(APT) nginx || echo "no nginx: proxy and login will not be tried"
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || $(APT) libfaketime || echo "no libfaketime: jumping clocks will not be tried"
	@command -v pdftoppm >/dev/null || $(APT) poppler-utils || echo "no pdftoppm: printed pages will not be looked at"
	@command -v soffice libreoffice >/dev/null || $(APT) libreoffice-impress || echo "no LibreOffice: slides will not be opened in it"

# A database of known holes, beside the environment: it is no part of what runs.
advisories: install-dev
	@test -d .advisories || $(VENV_PYTHON) -m pip install -q --no-deps --target .advisories safety-db==2021.7.17 || echo "no database of advisories: they will not be tried"

stress: lint browser tools advisories
	@$(ONE_THREAD) $(VENV_PYTHON) scripts/stress.py $(STRESS)

bench: install-dev
	@$(VENV_PYTHON) scripts/run_benchmarks.py

screenshots: browser
	@$(VENV_PYTHON) docs/screenshots/make.py

clean:
	rm -rf .venv .setup.log .setup.lock .start.lock .pytest_cache .ruff_cache .mypy_cache .hypothesis
