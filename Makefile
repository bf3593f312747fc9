# Two commands do everything on a fresh machine: `make run` and `make test`.
# Both create .venv and install from pyproject.toml with the pinned versions of constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOME_DIR ?= .memclaw
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help run ui test test-all check format bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group dev
	@touch $@

run: $(VENV)/installed ## run the main job on the shipped example trails
	$(BIN)/memclaw-etl demo --home $(HOME_DIR)

ui: run ## open the Dagster UI on the home that `make run` filled
	$(BIN)/memclaw-etl ui --home $(HOME_DIR)

test: $(VENV)/installed ## run every test, and a bounded part of the slow ones
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope

test-all: $(VENV)/installed ## run every test, the slow ones in full
	MEMCLAW_TEST_ALL=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope

check: $(VENV)/installed ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed ## print the figures
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group bench
	$(BIN)/python -m tests.bench

clean: ## remove the virtual environment, caches and the example home
	rm -rf $(VENV) $(HOME_DIR) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
