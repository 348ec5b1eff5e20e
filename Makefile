# make first   all set-up but Blender's, then an experiment: a model that learns, and loses on a pair that it never saw
# make demo   all set-up, then the main job with real rendering, into out/demo
# make test   all set-up, then the quick tests of Rust and Python: does it work on this machine?
# make check   what only those who change the code need: linters, types, stubs, benchmarks that compile
# make test-slow   the other tests: kills, clusters, models that learn, a thousand images
# make test-avx2   the quick tests of Python as on a processor without AVX-512; TESTS names some of them
# make test-wheel   builds a wheel for other machines, and tests it in an environment without Rust and with numpy 2
# make test-numpy1   the same with numpy 1
# make sdist   the source distribution, into dist
# make fuzz   2,000 spoilt files, each read by a command that has to answer with a sentence
# make bench   how fast questions, programs, scenes and images are made here, in a minute
# make urls   README's links and the project's URLs, from the setting url of pyproject.toml
# make docs   the documentation site, into out/site; a broken link or reference is an error
# make test-paper   all 29 pairs' text at the paper's and COVR's sizes, checked and timed
#
# Needs Python 3.11, a C compiler and cargo; everything else goes into .venv. A second run sets up nothing.

.DELETE_ON_ERROR:
# Each recipe keeps all cores busy, and two must not install into one environment.
.NOTPARALLEL:
.PHONY: first demo bench docs urls test check test-slow test-avx2 test-numpy1 test-wheel wheel sdist fuzz test-paper \
  check-rust check-python test-rust requirements clean
.DEFAULT_GOAL := test

VENV := .venv
BIN := $(abspath $(VENV))/bin
UV := VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/uv pip install
MATURIN := PATH=$(BIN):$$PATH VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --uv --locked --release
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --durations 10
PYTHON ?= $(shell command -v python3.11 || command -v python3)
CARGO_TEST := cargo test --locked --release --workspace --exclude clevrhope-benchmarks --quiet
# pyo3 asks this interpreter when cargo checks and tests.
export PYO3_PYTHON := $(BIN)/python
# uv takes a mirror from its own variable alone.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
SOURCES := pyproject.toml Cargo.toml Cargo.lock $(shell find rust -name '*.rs' -o -name Cargo.toml)

first: $(VENV)/train.stamp
	$(BIN)/clevrhope experiment first

# Half as many images as the preset has still show every split.
demo: $(VENV)/render.stamp
	@mkdir -p out
	@printf '[sizes]\ntrain = 72\nval_iid = 18\ncomplex_iid = 36\ncomplex_ood = 6\nminimal_places = 2\n' > out/demo.toml
	$(BIN)/clevrhope build --hop rubber_cylinder --preset demo --config out/demo.toml --seed 3 --samples 8 --out out/demo
	@echo "Made: a train set without rubber cylinders and test sets with and without them. Open out/demo/index.html to see"
	@echo "them. Next: '. $(VENV)/bin/activate', and the table of readers in README.md."

test: $(VENV)/dev.stamp test-rust
	$(PYTEST)
	@echo "All quick tests passed. Next: make demo builds a first dataset; make check and make test-slow are for changes."

# With the features of the whole workspace, the engine that Python uses is the one that these tests are linked to.
test-rust: $(VENV)/dev.stamp
	$(CARGO_TEST)

check: check-rust check-python
	@echo "All checks of style and types passed."

check-rust: $(VENV)/python.stamp
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo bench --locked -p clevrhope-benchmarks --no-run

check-python: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/python -m mypy.stubtest clevrhope._core

test-slow: $(VENV)/dev.stamp
	$(CARGO_TEST) -- --ignored
	$(PYTEST) -m slow

# Without what numpy, torch, OpenBLAS and the engine use of newer processors.
TESTS ?= tests
test-avx2: $(VENV)/dev.stamp
	NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python -c 'from numpy.core._multiarray_umath import __cpu_dispatch__ as names; \
	  print(*(name for name in names if name.startswith("AVX512")))')" \
	  ATEN_CPU_CAPABILITY=avx2 OPENBLAS_CORETYPE=Haswell CLEVRHOPE_SIMD=none $(PYTEST) $(TESTS)

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

urls: $(VENV)/python.stamp
	$(BIN)/python docs/urls.py

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
	$(BIN)/python -m pip install --quiet maturin==1.16.0 ziglang==0.17.1
	rm -f dist/*.whl
	$(BIN)/python tests/build_wheel.py --zig --compatibility manylinux_2_17 --out dist

sdist: $(VENV)/python.stamp
	$(BIN)/maturin sdist --out dist

test-wheel: wheel
	$(BIN)/python tests/check_wheel.py dist/*.whl --numpy 2

test-numpy1: wheel
	$(BIN)/python tests/check_wheel.py dist/*.whl --numpy 1

clean:
	rm -rf $(VENV) target out dist

# Set-up, each step done once and again when what it depends on changes. What is missing is said before anything is
# downloaded.

STOP := stop() { printf '%s\n' "$$1" >&2; exit 1; };

requirements:
	@$(STOP) [ -e $(VENV)/python.stamp ] || \
	$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || \
	  stop "clevrhope needs Python 3.11 (Blender 4.5 exists for no other); found: $$($(or $(PYTHON),python3) --version \
	2>/dev/null || echo none). Install it, or name it: make PYTHON=/path/to/python3.11"; \
	[ -e $(VENV)/python.stamp ] || $(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  stop "This Python has no ensurepip: apt-get install python3.11-venv, or what your system calls it."; \
	command -v cc >/dev/null || \
	  stop "clevrhope needs a C compiler, cc: apt-get install gcc libc6-dev, or what your system calls it."; \
	command -v cargo >/dev/null || stop "clevrhope needs cargo, Rust's build tool: see https://rustup.rs."

$(VENV)/python.stamp: | requirements
	$(call space,3)
	@echo "Setting up $(VENV): Python packages are downloaded while the engine compiles, which takes minutes."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(STOP) $(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8,<1' 'maturin>=1.9.4,<2' || \
	  stop "pip could not download uv and maturin; connect to the network, or name a mirror: PIP_INDEX_URL=... make"
	@touch $@

# Stops where less than $(1) GB are free for what is made anew.
space = @$(STOP) [ -e $@ ] || [ $$(df -Pk . | awk 'NR == 2 {print $$4}') -ge $(1)000000 ] || \
  stop "$(VENV) and target need $(1) GB on this disk, which has $$(df -Pk . | awk 'NR == 2 {print $$4 / 1e6}') GB free."

# Installs the package with extras, $(1), which take $(2) GB with the engine. The second call of maturin finds packages
# and engine made.
define install
	$(call space,$(2))
	@$(STOP) $(UV) -r pyproject.toml $(addprefix --extra ,$(1)) & packages=$$!; \
	trap "kill $$packages; exit 130" INT TERM; \
	$(MATURIN) --skip-install || { kill $$packages; \
	  stop "The engine could not be compiled (see above); cargo downloads crates, and needs Rust 1.88 or later."; }; \
	wait $$packages || \
	  stop "uv could not install Python packages (see above); check network and space, or name a mirror: PIP_INDEX_URL=... make"
	@$(MATURIN) --quiet
	@touch $@
endef

$(VENV)/train.stamp: $(VENV)/python.stamp $(SOURCES)
	$(call install,train plots browse,8)

$(VENV)/render.stamp: $(VENV)/python.stamp $(SOURCES)
	$(call install,render,3)

$(VENV)/dev.stamp: $(VENV)/python.stamp $(SOURCES)
	$(call install,render train docs dev,9)

$(VENV)/docs.stamp: $(VENV)/python.stamp $(SOURCES)
	$(call install,docs,3)
