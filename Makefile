# Two commands do everything on a fresh machine, and nothing twice:
#   make demo   register two real scans and write a page to turn with the mouse
#   make test   lint, types, and the whole test suite

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
export PIP_CONSTRAINT := $(abspath constraints.txt)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Byte code is compiled once, not by every process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types unit test-gpu format viewer clean help

help:
	@sed -n '2,3p' Makefile | sed 's/^# *//'
	@echo 'also:  make lint | types | unit | format | test-gpu | viewer | clean'

demo: $(READY)
	$(BIN)/spoonful demo --out demo

test: lint types unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/python -m pytest -n 2 -m 'not gpu'

# Runs in whatever Python has a CUDA build of torch; installs nothing.
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -m gpu -p no:cacheprovider tests

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The bundled 3D viewer; only for those who change viewer/src (needs Node 20 or newer).
viewer:
	cd viewer && npm ci && npm run build

clean:
	rm -rf $(VENV) demo .mypy_cache .pytest_cache .ruff_cache .hypothesis dist

# torch first and by itself: a resolver that sees an open torch range may choose a CUDA build.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet torch==$$(sed -n 's/^torch==//p' constraints.txt)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)
