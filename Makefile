PYTHON ?= python3
# cpu: without the packages of CUDA. cuda: torch as pip's own index has it, on Linux for NVIDIA GPUs.
TORCH ?= cpu
VENV := .venv
MINUTES ?= 10
DATA ?= ../shared/data
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
SITE := $(VENV)/.site
INDEX := $(if $(filter cpu,$(TORCH)),--extra-index-url https://download.pytorch.org/whl/cpu)
# Modules are compiled where they are imported: to compile all packages takes longer than to install.
INSTALL := $(VENV)/bin/python -m pip install --quiet --no-compile --constraint constraints.txt $(INDEX) --editable
# Python keeps compiled modules: many commands and tests start a process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install quickstart test test-long test-all drill grammar docs lock lint types benchmark gpu-queue growth

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

install: $(READY) ## Install into .venv, with torch for CPUs; TORCH=cuda for NVIDIA GPUs
	@echo 'ready: activate it with ". $(VENV)/bin/activate", then run "attention-bench --help"'

quickstart: $(READY) ## Compare five variants on the built-in corpus and draw BLEU against length
	$(VENV)/bin/python run.py comparison=quickstart

test: $(TOOLS) ## Run the test suite
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test-long: $(TOOLS) ## Run the tests that take minutes, then those that measure seconds, one by one
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -m "long and not timed and not exhaustive" -n auto --dist loadfile --no-loadscope-reorder
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -m "timed and not exhaustive"

test-all: $(TOOLS) ## Run every test, on every variant and setting, before every release
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -m "not timed" -n auto --dist loadfile --no-loadscope-reorder
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -m timed

drill: $(TOOLS) ## Try mistakes, damage, kills, full disks and more, before every release
	$(VENV)/bin/python -m tests.tools.drill

grammar: $(TOOLS) ## Read 40,000 pairs of each two languages of the built-in corpus with a separate checker
	$(VENV)/bin/python -m tests.tools.grammar_checker

docs: $(SITE) ## Build the pages into build/docs, with a search; a warning is an error
	$(VENV)/bin/sphinx-build --fail-on-warning --keep-going --quiet docs build/docs

benchmark: $(TOOLS) ## Time every variant beside a bare PyTorch loop
	$(VENV)/bin/python -m tests.tools.benchmarks.speed

gpu-queue: $(TOOLS) ## Measure on a GPU what is missing, for MINUTES=10, and write docs/findings/gpu.md; commit what it wrote
	$(VENV)/bin/python -m tests.tools.benchmarks.gpu --minutes $(MINUTES) --data $(DATA)

growth: $(TOOLS) ## Time how each cost grows with lengths, batch, vocabulary and width
	$(VENV)/bin/python -m tests.tools.benchmarks.growth

lock: $(READY) ## Choose versions anew: uv.lock from pyproject.toml, and constraints.txt from uv.lock
	$(VENV)/bin/python -m pip install --quiet 'uv>=0.9,<1'
	$(VENV)/bin/uv lock --quiet --upgrade
	$(VENV)/bin/uv export --quiet --frozen --all-extras --no-hashes --no-emit-project --no-annotate --no-header --output-file constraints.txt

lint: $(TOOLS) ## Check style
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(TOOLS) ## Check types
	$(VENV)/bin/mypy

# Stamps are made last: an interrupted installation is taken up again.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; give PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) .
	touch $@

$(TOOLS): $(READY)
	$(INSTALL) '.[dev]'
	touch $@

$(SITE): $(READY)
	$(INSTALL) '.[docs]'
	touch $@
