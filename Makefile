# Each target sets up what it needs in .venv; a second call finds it there.
#   make run ARGS="--port 8000"                 options for the program that is run
#   make run PYTHON=/usr/bin/python3.12         the Python to make .venv with
#   make run PIP_ARGS="--extra-index-url URL"   options for pip, such as another source of torch

.DEFAULT_GOAL := help
VENV := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
ARGS ?=
MINUTES ?= 10
# Files in the order of their names: the browser tests, which take longest, begin first.
DISTRIBUTE := --dist loadfile --no-loadscope-reorder
# One more than there are cores, four at most: tests of pages mostly wait.
WORKERS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 4 ? cores + 1 : 4)))

export VENV PYTHON PIP_ARGS
unexport PYTHONDONTWRITEBYTECODE # hundreds of processes would compile every file anew

.PHONY: help run test test-all chromium characterise train-setup docs check format bench soak fuzz audit clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: $(VENV)/.run ## Serve the pages on http://127.0.0.1:7860; accounts and ratings are in data/kpdemo.db
	$(PYTHON_IN_VENV) app.py $(ARGS)

test: $(VENV)/.dev chromium ## Run the tests but the slow ones (docs/architecture.md, Tests)
	$(PYTHON_IN_VENV) -m pytest --numprocesses $(WORKERS) $(DISTRIBUTE) $(ARGS)

test-all: $(VENV)/.dev chromium ## Run the slow tests too: trainings, all on PostgreSQL, pages in every look
	$(PYTHON_IN_VENV) -m pytest -m "not benchmark" --numprocesses $(WORKERS) $(DISTRIBUTE) $(ARGS)

chromium: $(VENV)/.dev ## Find or install Chromium for the browser tests
	@sh tools/chromium.sh

characterise: $(VENV)/.dev ## For developers: write anew what tests/characterisation expects
	KPDEMO_REWRITE=1 $(PYTHON_IN_VENV) -m pytest tests/characterisation $(ARGS)

train-setup: $(VENV)/.train ## Install the weights that training starts from

docs: $(VENV)/.dev ## Build the documentation into site/, which the server then shows at /docs
	$(PYTHON_IN_VENV) -m mkdocs build --quiet

check: $(VENV)/.dev ## For developers: lint, format and types
	$(PYTHON_IN_VENV) -m ruff check .
	$(PYTHON_IN_VENV) -m ruff format --check .
	$(PYTHON_IN_VENV) -m mypy

format: $(VENV)/.dev ## For developers: format the code
	$(PYTHON_IN_VENV) -m ruff check --fix .
	$(PYTHON_IN_VENV) -m ruff format .

bench: $(VENV)/.dev ## For developers: measure speed
	$(PYTHON_IN_VENV) -m pytest tests/benchmark -m benchmark $(ARGS)

soak: $(VENV)/.dev ## For developers: raters, predictions, exports, backups and kills together, then the sums
	$(PYTHON_IN_VENV) -m tests.soak --minutes $(MINUTES) $(ARGS)

fuzz: $(VENV)/.fuzz ## For developers: send what nobody sends on purpose to the addresses for programs
	$(PYTHON_IN_VENV) -m tests.fuzzing --minutes $(MINUTES) $(ARGS)

audit: $(VENV)/.audit ## For developers: look the pinned packages up among those with known weaknesses
	$(PYTHON_IN_VENV) -m pip_audit --requirement constraints.txt --no-deps --disable-pip $(ARGS)

clean: ## Remove .venv and all caches
	rm -rf $(VENV) build dist site *.egg-info .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.run: requirements.txt constraints.txt tools/install.sh
	@sh tools/install.sh run

$(VENV)/.dev: requirements.txt constraints.txt pyproject.toml tools/install.sh
	@sh tools/install.sh dev

$(VENV)/.train: requirements.txt constraints.txt pyproject.toml tools/install.sh
	@sh tools/install.sh train

$(VENV)/.fuzz: requirements.txt constraints.txt pyproject.toml tools/install.sh
	@sh tools/install.sh fuzz

$(VENV)/.audit: requirements.txt constraints.txt pyproject.toml tools/install.sh
	@sh tools/install.sh audit
