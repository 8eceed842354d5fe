# make demo: installs, builds, and runs a real search. make test: builds and runs all tests.
PRESET ?= release
BUILD := build/$(PRESET)
PACKAGES ?= build/package
.PHONY: help setup configure build demo test bench docs experiments format deb clean

help:
	@echo "make demo     install, build, search and train on Fashion-MNIST (minutes)"
	@echo "make test     install, build and run every test"
	@echo "make build    only build; the program is $(BUILD)/bin/nascent"
	@echo "make bench    time the engines, analyses, attacks and ensembles beside the plain way, and work on two ranks beside one (half an hour)"
	@echo "make experiments  run every experiment; results go to docs/results/, whose README says how long each takes (hours)"
	@echo "make docs     write docs/options.md anew from the program"
	@echo "make format   run clang-format over the sources"
	@echo "make deb      Debian packages in $(PACKAGES): nascent (program, library, headers) and python3-nascent"
	@echo "make clean    remove build/"

setup:
	@scripts/setup

configure: setup
	@cmake --preset $(PRESET) > /dev/null

build: configure
	@cmake --build $(BUILD) --target nascent

demo: build
	@$(BUILD)/bin/nascent demo

# Tests that want real data find it through NASCENT_DATA, and skip where it is not set.
test: configure
	@scripts/setup tests
	@cmake --build $(BUILD)
	@cd $(BUILD) && ctest --output-on-failure -j2

bench: configure
	@cmake --build $(BUILD) --target nascent bench_step bench_analysis bench_attack bench_ensemble
	@for bench in step analysis attack ensemble; do $(BUILD)/bin/bench_$$bench || exit 1; done
	@bench/scale $(BUILD)

docs: build
	@$(BUILD)/bin/nascent options --markdown > docs/options.md

# What is done is not run again: a stopped experiment goes on.
experiments: build
	@for experiment in experiments/*; do $$experiment || exit 1; done

format: setup
	@find src tests bench examples -name '*.h' -o -name '*.cc' | xargs clang-format -i

deb: setup
	@cmake --preset package -B $(PACKAGES) > /dev/null
	@cmake --build $(PACKAGES)
	@cd $(PACKAGES) && cpack -G DEB

clean:
	@rm -rf build
