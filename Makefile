# On a fresh machine (each target installs what it needs, once, into .venv):
#   make demo    register two real scans and write a page with a 3D view
#   make check   lint, types and the fast tests: about a minute, for every edit
#   make test    lint, types and all tests: before every commit

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 3
FAST_JOBS ?= 2
DEMO   := $(VENV)/.ready-demo
DEV    := $(VENV)/.ready-dev
FILES  := pyproject.toml constraints.txt $(wildcard hatch_build.py src/spoonful/geometry/kernels/*.c)
export PIP_CONSTRAINT := $(abspath constraints.txt)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Byte code is compiled once, not by every process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo check test lint types fast unit test-gpu format bench-check soak docs viewer clean

help:
	@sed -n '2,4p' Makefile | sed 's/^# *//'
	@echo 'also:  make lint | types | fast | unit | format | bench-check | soak | docs | test-gpu | viewer | clean'

demo: $(DEMO)
	$(BIN)/spoonful demo --out demo

# mypy runs beside the tests. The slow tests wait at times, for servers and processes: so `unit` has
# more processes than two cores. The fast tests do not wait, and a third process would cost more
# than it saves, because each imports torch and collects all tests.
check: lint
	+@$(MAKE) --no-print-directory -j 2 types fast

test: lint
	+@$(MAKE) --no-print-directory -j 2 types unit

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

fast: $(DEV)
	$(BIN)/python -m pytest -n $(FAST_JOBS) -q -m 'not gpu and not slow' tests

unit: $(DEV)
	$(BIN)/python -m pytest -n $(JOBS) -m 'not gpu'

# Uses $(PYTHON) as it is (it must have a CUDA build of torch); installs nothing.
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -m gpu -p no:cacheprovider tests

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Compares the speed of the main parts with the committed ratios; a minute.
bench-check: $(DEV)
	$(BIN)/python benchmarks/check.py

# Attacks readers, trainings, batches and the server; see benchmarks/soak.py.
soak: $(DEV)
	$(BIN)/python benchmarks/soak.py --minutes 10

# Builds the documentation into site/.
docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# Builds the bundled 3D viewer; only needed after a change in viewer/src (needs Node 20 or newer).
viewer:
	cd viewer && npm ci && npm run build

clean:
	rm -rf $(VENV) demo site .mypy_cache .pytest_cache .ruff_cache .hypothesis dist

# $(1) are the extras. torch comes first and by itself: if pip sees an open torch range, it may
# choose a CUDA build.
define install
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet torch==$$(sed -n 's/^torch==//p' constraints.txt)
	$(BIN)/python -m pip install --quiet --editable '.[$(1)]'
endef

$(DEMO): $(FILES)
	$(call install,register)
	touch $@

$(DEV): $(FILES)
	$(call install,dev)
	touch $(DEMO) $@
