.DEFAULT_GOAL := help
.PHONY: help setup demo test chaos bench lint lock up down clean

PYTHON := .venv/bin/python
STACK := $(PYTHON) -m deploy.local

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: ## install what is missing (Debian packages, .venv, node_modules)
	@bash deploy/local/setup.sh

demo: setup ## import a folder, ask two questions about it, show the answers as they come
	@$(STACK) demo

test: ## run all tests; one that fails is run once more, and listed
	@bash deploy/local/setup.sh test
	@.venv/bin/pytest -n 4 --dist loadfile --no-loadscope-reorder --reruns 1

chaos: ## run the tests of faults and doors in their whole form, and print what each fault showed
	@bash deploy/local/setup.sh test
	@RAGCORE_CHAOS=1 .venv/bin/pytest tests/integration/faults tests/integration/doors

bench: setup ## measure how fast it is, each figure beside what it is compared with (docs/performance.md)
	@$(PYTHON) -m tests.bench $(ROWS)

lint: setup ## check style and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

lock: setup ## write requirements.lock, what production installs; deleted first, with the newest of all
	@$(PYTHON) -m pip install --quiet uv
	@UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile --quiet --universal --generate-hashes \
		--no-emit-index-url --no-annotate --output-file requirements.lock pyproject.toml

up: setup ## start the stack and leave it running in the background
	@$(STACK) up

down: ## stop what `up` started
	@if [ -x $(PYTHON) ]; then $(STACK) down; fi

clean: down ## remove all that was generated: packages, data, caches
	@rm -rf .venv .ragcore build *.egg-info .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@rm -rf deploy/local/database/node_modules tests/clients/node_modules
	@find api deploy ragcore tasks tests -name __pycache__ -type d -prune -exec rm -rf {} +
