# The two commands of a newcomer are `make demo` and `make test`; everything CI checks is a target
# here. PYTHON picks the interpreter; each has its own virtual environment, and all share target/.
#
#   make demo                    build, install, run the demo
#   make build PYTHON=...        the wheel, in the virtual environment and in .venv-*/wheels
#   make test                    test-rust, then test-python
#   make test-rust               what depends on Rust alone (once for all interpreters): test-unit,
#                                test-compile-fail, test-doc, test-loom, test-fuzz (4 s a target)
#   make test-unit               unit and property tests, and what must not compile
#   make test-loom               the interleavings of the core's protocols
#   make test-lifecheck          a stranger's Rust types under lifecheck!, also with cargo-fuzz
#   make test-python PYTHON=...  what depends on the interpreter and its NumPy, with the C and C++
#                                modules (HYPOTHESIS_PROFILE=long: many random examples a property)
#   make test-clients PYTHON=... only builds the Rust clients that the Python tests use
#   make test-cpp PYTHON=...     of test-python, the C and C++ modules of cpp-bridge
#   make check PYTHON=...        NumPy's operations on the bundled types and two C++ examples
#   make faults PYTHON=...       the operations with each of their steps failing once
#   make full PYTHON=...         make check, and the regressions, on every type that the tests register
#   make stress PYTHON=...       eight threads at work on each type, for STRESS_SECONDS in all; then
#                                make hostile for as long (HOSTILE_SECONDS)
#   make hostile PYTHON=...      hooks of elements that use the array at hand, for HOSTILE_SECONDS
#   make asan [ASAN=all]         the Python tests under AddressSanitizer and LeakSanitizer: a part, or all
#   make valgrind                the unit tests under valgrind
#   make valgrind-cpp            those of the C and C++ modules that are marked short, under valgrind
#   make fuzz                    each fuzz target for FUZZ_SECONDS (300); make corpus keeps what it found
#   make lint                    words, imports, formats, clippy, rustdoc, ruff, mypy, pyright
#   make bench                   write the figures of docs/performance.md anew
#   make header                  write the C header anew from src/abi
#   make patches-table           write the table of docs/numpy.md anew from numpy_patches/table.rs
#   make clean                   remove what was built, and the virtual environments

PYTHON ?= python3
# Of each fuzz target, and which (all of them, if none is named).
FUZZ_SECONDS ?= 300
FUZZ_TARGETS ?=
export PLAIN
STRESS_SECONDS ?= 60
HOSTILE_SECONDS ?= $(STRESS_SECONDS)
CARGO ?= cargo
# More arguments of pytest in make test-python.
PYTEST_ARGS ?=
# Worker processes of pytest; empty runs the tests in one process.
PYTEST_WORKERS ?= 2
# What `make asan` runs: part or all.
ASAN ?= part

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
ifeq ($(VERSION),)
$(error $(PYTHON) does not run; name an interpreter of 3.11 or later: make PYTHON=python3.12)
endif
VENV := .venv-$(VERSION)
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# pyo3 must see the same interpreter in every build of a leg, else it is rebuilt each time.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find src -name '*.rs' -o -name '*.c' -o -name '*.h')
PACKAGE_SOURCES := pyproject.toml README.md $(shell find python cpp-bridge/include cpp-bridge/cmake \
	-type f -not -name '*.so' -not -name '*.pyc' 2>/dev/null)
CORE := --no-default-features --features core,elements,testing
CLIENTS := $(patsubst %/,%,$(dir $(wildcard tests/clients/*/pyproject.toml)))

.PHONY: help venv tools build demo test test-rust test-unit test-compile-fail test-doc test-loom test-lifecheck \
	test-fuzz test-python test-clients test-cpp check faults full stress hostile asan valgrind-cpp lint \
	lint-words lint-rust lint-python fuzz corpus valgrind \
	header patches-table bench clean

help:
	@sed -n 's/^#   //p' Makefile

# ---- environment -------------------------------------------------------------------------------

$(STAMPS)/venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "denizen needs Python 3.11 or later; choose one with PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	mkdir -p $(STAMPS)
	touch $@

# pyproject.toml lists the tools in its dependency groups.
$(STAMPS)/build-tools: $(STAMPS)/venv pyproject.toml
	@echo "== installing the build tools and the newest NumPy for Python $(VERSION)"
	$(BIN)/python -m pip install --quiet --upgrade --group build
	touch $@

# Of statsmodels only a data file is wanted, not what it imports.
$(STAMPS)/test-tools: $(STAMPS)/build-tools
	@echo "== installing the test tools"
	$(BIN)/python -m pip install --quiet --upgrade --group test
	$(BIN)/python -m pip install --quiet --upgrade --no-deps statsmodels
	touch $@

$(STAMPS)/cpp-tools: $(STAMPS)/build-tools
	@echo "== installing CMake, pybind11 and nanobind"
	$(BIN)/python -m pip install --quiet --upgrade --group cpp
	touch $@

$(STAMPS)/lint-tools: $(STAMPS)/build-tools
	@echo "== installing the lint tools"
	$(BIN)/python -m pip install --quiet --upgrade --group lint
	touch $@

venv: $(STAMPS)/test-tools

# All that is installed from elsewhere.
tools: $(STAMPS)/test-tools $(STAMPS)/cpp-tools $(STAMPS)/lint-tools

$(STAMPS)/wheel: $(STAMPS)/build-tools $(RUST_SOURCES) $(PACKAGE_SOURCES)
	@command -v $(CARGO) >/dev/null || { echo "Rust is missing; install it from https://rustup.rs" >&2; exit 1; }
	@echo "== building the wheel (the first time compiles all dependencies)"
	rm -rf $(VENV)/wheels
	$(BIN)/maturin build --release --locked --interpreter $(BIN)/python --out $(VENV)/wheels
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(VENV)/wheels/*.whl
	touch $@

build: $(STAMPS)/wheel

# ---- the main job ------------------------------------------------------------------------------

demo: build
	@$(BIN)/denizen demo $(ARGS)

# ---- tests -------------------------------------------------------------------------------------

test: test-rust test-python

test-rust: test-unit test-doc test-loom test-fuzz

# Unit, property and compile-fail tests of everything that needs no Python.
test-unit: test-compile-fail
	@echo "== Rust: unit and property tests"
	if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --locked $(CORE); \
	else \
		$(CARGO) test --locked $(CORE) --lib --tests; \
	fi

test-compile-fail:
	@echo "== Rust: compile-fail tests"
	CARGO_TARGET_DIR=target/compile_fail $(CARGO) test --locked \
		--manifest-path tests/compile_fail/Cargo.toml

test-doc:
	@echo "== Rust: documentation tests of the client and of the testing tools"
	$(CARGO) test --locked --no-default-features --features proptest --doc

test-loom:
	@echo "== Rust: loom explores the interleavings of the core's protocols"
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom \
		$(CARGO) test --locked --profile loom --no-default-features --features core --lib loom

# A crate that checks its own types with `denizen::testing`, as its author would.
test-lifecheck:
	CARGO_TARGET_DIR=$(CURDIR)/target/lifecheck .ci/lifecheck

# The test of the same name fails when the header and src/abi differ.
header:
	DENIZEN_UPDATE_HEADER=1 $(CARGO) test --locked --no-default-features --features client \
		--test c_header
	.ci/link-headers

patches-table: $(STAMPS)/wheel $(STAMPS)/test-tools
	DENIZEN_UPDATE_PATCHES=1 $(BIN)/python -m pytest -q tests/python/numpy_patches/test_table.py -k documentation

# cargo-fuzz needs a nightly toolchain for AddressSanitizer. PLAIN=1: see .ci/fuzz.
fuzz:
	@.ci/fuzz run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# Enough to see that the inputs found before still pass, and a little more.
test-fuzz:
	@.ci/fuzz run 4

# Takes what `make fuzz` found into the committed inputs.
corpus:
	@.ci/fuzz corpus $(FUZZ_TARGETS)

valgrind:
	@echo "== valgrind over the unit tests"
	.ci/valgrind

PYTEST = PYTHONPATH=$(CURDIR)/$(VENV)/cpp/modules $(BIN)/python -m pytest $(if $(PYTEST_WORKERS),-n $(PYTEST_WORKERS) --dist worksteal)

# One session for all: types of Rust and C++ stand in the same tables.
test-python: $(STAMPS)/clients $(STAMPS)/cpp
	@echo "== Python: tests on $(VERSION)"
	$(PYTEST) tests/python cpp-bridge $(PYTEST_ARGS)

# Extension crates that only know the client interface.
$(STAMPS)/clients: $(STAMPS)/wheel $(STAMPS)/test-tools docs/rust.md $(shell find tests/clients -type f \( -name '*.rs' -o -name '*.toml' -o -name 'Cargo.lock' \) -not -path '*/target/*' 2>/dev/null)
	@for client in $(CLIENTS); do \
		echo "== building $$client"; \
		rm -rf $(VENV)/wheels-clients; \
		CARGO_TARGET_DIR=$(CURDIR)/target/clients $(BIN)/maturin build --release \
			--manifest-path $$client/Cargo.toml --interpreter $(BIN)/python \
			--out $(VENV)/wheels-clients; \
		$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(VENV)/wheels-clients/*.whl; \
	done
	touch $@

test-clients: $(STAMPS)/clients


# ---- the C++ bridge ----------------------------------------------------------------------------

CPP_SOURCES := $(shell find cpp-bridge -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' \
	-o -name CMakeLists.txt -o -name '*.cmake' \))
# Everything of denizen that the modules need is in the wheel; CMake finds it through Python. What it
# skips for lack of a library, and why, it says as a notice.
CMAKE_BUILD = @$(BIN)/cmake -S cpp-bridge -B $(1) -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	-DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja $(2) >$(1).log || { cat $(1).log; exit 1; }; \
	$(BIN)/cmake --build $(1) -- --quiet

# More options of CMake's.
CPP_OPTIONS ?=

$(STAMPS)/cpp: $(STAMPS)/wheel $(STAMPS)/test-tools $(STAMPS)/cpp-tools $(CPP_SOURCES)
	@echo "== building the C and C++ modules"
	$(call CMAKE_BUILD,$(VENV)/cpp,$(CPP_OPTIONS))
	touch $@

test-cpp: $(STAMPS)/clients $(STAMPS)/cpp
	@echo "== Python: tests of the C and C++ modules on $(VERSION)"
	$(PYTEST) cpp-bridge

# What `denizen check` finds on element types; docs/testing-your-type.md says more. Types that are named may refuse
# only what is expected.
CHECKED ?= denizen:Integer denizen:Rational real:real standard:String

check: $(STAMPS)/cpp
	@PYTHONPATH=$(VENV)/cpp/modules .ci/check $(BIN)/python $(CHECKED)

# Every FAULTS_EVERY-th operation with each of its allocations and elements failing once.
FAULTS_EVERY ?= 1

faults: $(STAMPS)/cpp $(STAMPS)/clients
	@PYTHONPATH=$(VENV)/cpp/modules .ci/faults $(BIN)/python $(FAULTS_EVERY)

full: $(STAMPS)/cpp $(STAMPS)/clients
	@echo "== Python: the tests that go for every type, for all of them on $(VERSION)"
	$(PYTEST) --all-types tests/python/regressions
	@PYTHONPATH=$(VENV)/cpp/modules .ci/check $(BIN)/python

# It prints the seed of its choices; docs/how-it-is-tested.md says what it tries.
stress: $(STAMPS)/cpp $(STAMPS)/clients
	@echo "== threads under stress on $(VERSION)"
	cd tests/python/process && PYTHONPATH=$(CURDIR)/$(VENV)/cpp/modules $(CURDIR)/$(BIN)/python -m stress \
		--seconds $(STRESS_SECONDS) $(STRESS)
	@[ $(HOSTILE_SECONDS) = 0 ] || $(MAKE) --no-print-directory hostile

# It prints the seed of its choices; docs/how-it-is-tested.md says what it tries.
hostile: $(STAMPS)/cpp $(STAMPS)/clients
	@echo "== hooks that use the array at hand on $(VERSION)"
	cd tests/python/process && PYTHONPATH=$(CURDIR)/$(VENV)/cpp/modules $(CURDIR)/$(BIN)/python -m hostile \
		--seconds $(HOSTILE_SECONDS) $(HOSTILE)

# Of the folders a part of the tests leaves out one; see .ci/asan.
$(STAMPS)/cpp-asan-$(ASAN): $(STAMPS)/cpp
	@echo "== building the C and C++ modules with AddressSanitizer ($(ASAN))"
	$(call CMAKE_BUILD,$(VENV)/cpp-asan,-DDENIZEN_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
		-DDENIZEN_LEFT_OUT=$(if $(filter part,$(ASAN)),types))
	touch $@

# The package of the wheel with an instrumented runtime; the test clients as they are.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
$(STAMPS)/asan: $(STAMPS)/wheel $(STAMPS)/clients
	@echo "== building the runtime with AddressSanitizer"
	RUSTFLAGS="-Zsanitizer=address --cfg plain_memory" CARGO_TARGET_DIR=target/sanitized \
		$(CARGO) +nightly build --profile sanitized --locked --lib --target $(HOST)
	rm -rf $(VENV)/asan
	mkdir $(VENV)/asan
	cp -r $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/denizen $(VENV)/asan
	cp target/sanitized/$(HOST)/sanitized/libdenizen.so $(VENV)/asan/denizen/_runtime$$($(BIN)/python -c \
		'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
	touch $@

asan: $(STAMPS)/asan $(STAMPS)/cpp-asan-$(ASAN)
	@echo "== the Python tests under AddressSanitizer and LeakSanitizer ($(ASAN))"
	.ci/asan $(BIN)/python $(VENV)/asan $(VENV)/cpp-asan/modules $(ASAN)

valgrind-cpp: $(STAMPS)/cpp
	@echo "== the C and C++ modules under valgrind"
	.ci/valgrind-cpp $(BIN)/python $(VENV)/cpp/modules

# ---- checks that change nothing ----------------------------------------------------------------

lint: lint-words lint-rust lint-python

# Words that others have replaced.
lint-words:
	@echo "== lint: words"
	$(PYTHON) .ci/words

# Of the documentation: the client's public pages, then all as those read it who work on the runtime.
lint-rust: $(STAMPS)/build-tools
	@echo "== lint: imports, rustfmt, clippy, rustdoc"
	$(PYTHON) .ci/imports
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path fuzz/Cargo.toml
	$(CARGO) clippy --locked --all-targets $(CORE) -- -D warnings
	$(CARGO) clippy --locked --no-default-features --features client -- -D warnings
	$(CARGO) clippy --locked --no-default-features --features core -- -D warnings
	$(CARGO) clippy --locked --features ndarray -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --no-default-features \
		--features pyo3,ndarray
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
		$(CARGO) doc --locked --no-deps --document-private-items --features proptest

lint-python: $(STAMPS)/lint-tools $(STAMPS)/wheel
	@echo "== lint: ruff, mypy, pyright"
	$(BIN)/ruff check python tests/python benches cpp-bridge
	$(BIN)/ruff format --check python tests/python benches cpp-bridge
	$(BIN)/mypy --strict -p denizen
	$(BIN)/mypy --strict python/pytest_denizen.py
	$(BIN)/python -m mypy.stubtest denizen._runtime
	$(BIN)/mypy --strict tests/python/library/typed_user.py
	$(BIN)/basedpyright --pythonpath $(BIN)/python --level error tests/python/library/typed_user.py

bench: $(STAMPS)/cpp
	.ci/bench $(BIN)/python $(VENV)/cpp/modules

clean:
	rm -rf target .venv-* fuzz/target build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
