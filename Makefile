# make demo   all set-up, then the main job with real rendering (8 samples: little more than half of the time), into out/demo
# make test   all set-up, then every check that is quick: Rust, Python, linters, types, stubs
# make test-slow   the other tests: kills, clusters, models that learn, a thousand images
# make test-wheel   builds a wheel for other machines, and tests it in an environment without Rust and with numpy 2
# make test-numpy1   the same with numpy 1
# make sdist   the source distribution, into dist
# make fuzz   2,000 spoilt files, each read by a command that has to answer with a sentence
# make docs   the documentation site, into out/site; a broken link or reference is an error
# make test-paper   all 29 pairs' text at the paper's and COVR's sizes, checked and timed
#
# Needs Python 3.11, a C compiler and cargo; everything else goes into .venv. A second run sets up nothing.

.DELETE_ON_ERROR:
.PHONY: demo docs test test-slow test-wheel test-numpy1 wheel sdist fuzz test-paper check-rust check-python render-libraries clean
.DEFAULT_GOAL := test

VENV := .venv
BIN := $(abspath $(VENV))/bin
MATURIN := VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --locked --release
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --durations 10
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# pyo3 asks this interpreter when cargo checks and tests.
export PYO3_PYTHON := $(BIN)/python
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust -name '*.rs' -o -name Cargo.toml)

demo: $(VENV)/render.stamp render-libraries
	$(BIN)/clevrhope build --hop rubber_cylinder --preset demo --seed 3 --samples 8 --out out/demo

test: check-rust check-python

check-rust: $(VENV)/python.stamp
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo test --locked --release -p clevrhope-core
	cargo bench --locked -p clevrhope-core --no-run

check-python: $(VENV)/dev.stamp render-libraries
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest clevrhope._core
	$(PYTEST)

test-slow: $(VENV)/dev.stamp render-libraries
	$(PYTEST) -m slow

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# SEED draws other files: make fuzz SEED=7
SEED ?= 1
fuzz: $(VENV)/dev.stamp
	CLEVRHOPE_FUZZ=2000 CLEVRHOPE_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -m slow -s tests/fuzz

# All of the paper's text, in minutes; with nothing beside it, since it times that.
test-paper: $(VENV)/dev.stamp
	CLEVRHOPE_TEST_PAPER=1 $(BIN)/python -m pytest -s tests/pipeline/test_paper.py

# For all Linux systems with glibc 2.17 (2012) or later, by the compiler and the libraries of PyPI's ziglang.
wheel: $(VENV)/python.stamp
	$(BIN)/python -m pip install --quiet ziglang
	rm -f dist/*.whl
	PATH=$(BIN):$$PATH $(BIN)/maturin build --release --locked --zig --compatibility manylinux_2_17 --out dist

sdist: $(VENV)/python.stamp
	$(BIN)/maturin sdist --out dist

test-wheel: wheel
	$(BIN)/python tests/check_wheel.py dist/*.whl --numpy 2

test-numpy1: wheel
	$(BIN)/python tests/check_wheel.py dist/*.whl --numpy 1

clean:
	rm -rf $(VENV) target out dist

# Set-up, each step done once and again when what it depends on changes.

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || \
	  { echo "clevrhope needs Python 3.11 (Blender 4.5 exists for no other); found: $$($(PYTHON) --version 2>&1 || echo none)." \
	    "Install it, or name it: make PYTHON=/path/to/python3.11"; exit 1; } >&2
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
	  { echo "clevrhope needs a C compiler as a linker: apt-get install gcc libc6-dev, or what your system calls it."; exit 1; } >&2
	@command -v cargo >/dev/null || \
	  { echo "clevrhope needs cargo, Rust's build tool: see https://rustup.rs."; exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "This Python has no ensurepip: apt-get install python3.11-venv, or what your system calls it."; exit 1; } >&2
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet 'maturin>=1.9.4,<2'
	@touch $@

# The engine compiles while Blender is downloaded; what is asked for last finds both done. It is maturin that
# compiles, as what cargo makes by itself would be compiled again for it.
$(VENV)/render.stamp: $(VENV)/python.stamp pyproject.toml $(RUST_SOURCES)
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  print(*project["dependencies"], *project["optional-dependencies"]["render"], sep="\n")' > $(VENV)/render.txt
	$(MATURIN) --skip-install & $(BIN)/python -m pip install --quiet -r $(VENV)/render.txt; wait $$!
	$(MATURIN) --extras render
	@touch $@

$(VENV)/dev.stamp: $(VENV)/render.stamp
	$(MATURIN) --extras render,train,docs,dev
	@touch $@

$(VENV)/docs.stamp: $(VENV)/python.stamp pyproject.toml $(RUST_SOURCES)
	$(MATURIN) --extras docs
	@touch $@

# Blender needs a few of the system's libraries; without them, this says which and how to install them.
render-libraries: $(VENV)/render.stamp
	@$(BIN)/python -m clevrhope.runtime.blender
