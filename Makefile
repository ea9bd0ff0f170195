# make demo       set everything up and run the main job: one network on every target, compared
# make test       set everything up, system tools too where possible, and pass all tests
# make test-fast  the tests that need no simulator
# make test-c     those of the core and of the emitted C that need no emulator; a small environment
# make test-alone that tests of reference models skip where there are none; the others see none
# make coverage   lines of the product that the fast tests reach; PYTHON=python3.13 counts them quickly
# make campaign   the long form of tests/campaign: some hours; goes on where it was interrupted
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS := 1
# Verilator compiles its own library for each simulator: a compiler cache halves that.
export OBJCACHE ?= $(shell command -v ccache)
# Tests run in two processes: memory and simulators allow no more on a small machine.
JOBS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --durations=15

.PHONY: demo test test-fast test-alone test-c coverage campaign lint bench bench-check docs lock clean setup setup-c setup-demo system-tools

demo: setup-demo
	@rm -rf out/demo
	@$(BIN)/rlx demo --fpga -o out/demo

test: setup system-tools
	$(PYTEST) -m "not sim and not qemu and not synth"
	$(PYTEST) -m "sim or qemu or synth"

FAST := not sim and not qemu and not synth and not models and not campaign and not slow and not wheel
test-fast: setup
	$(PYTEST) -m "$(FAST)"

# Counting through sys.monitoring (Python 3.12 and later) costs little; before, it doubles the time.
PACKAGES := rlx rlx_c rlx_cortexm rlx_fpga rlx_host rlx_wgpu rlx_xla rlx_sim
coverage: setup
	COVERAGE_CORE=sysmon $(PYTEST) -m "$(FAST)" $(PACKAGES:%=--cov=%) --cov-report=term:skip-covered

test-alone: setup
	CI= RLX_SHARED=/nowhere $(PYTEST) -rs -m models

# What requirements/c.lock is enough for; tests/tools/test_environments.py holds it against the imports.
C_TESTS := tests/unit tests/targets/c tests/targets/cortexm
test-c: setup-c
	$(PYTEST) $(C_TESTS) -m "not sim and not qemu and not synth and not models and not slow and not complete"

# Some parts only: make campaign PARTS="bytes names"
campaign: setup system-tools
	PYTHONPATH=tests:. $(BIN)/python -m campaign --jobs $(JOBS) --store $(PARTS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/layout.py
	$(BIN)/python tools/words.py

bench: setup
	$(BIN)/python -m benchmarks

# Fails if instructions or bytes of emitted code grew; "--update" in place of "--check" stores them.
bench-check: setup system-tools
	$(BIN)/python -m benchmarks --check --executor $(JOBS)

docs: setup
	$(BIN)/sphinx-build -W -q -b doctest docs docs/_build/doctest
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

setup: $(VENV)/.dev
setup-c: $(VENV)/.c
setup-demo: $(VENV)/.demo

$(VENV)/.%: requirements/%.lock pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV) $*

system-tools:
	@sh tools/system_tools.sh

lock:
	@sh tools/lock.sh

clean:
	rm -rf $(VENV) build dist out docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
