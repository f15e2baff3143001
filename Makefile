# The commands of this repository. `make help` lists them.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 10
RELEASE := build/release
TARGETS := slipway_cli slipway_runtime_onnx slipway_runtime_dynamo slipway_runtime_executorch

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help bootstrap bootstrap-test deps models build demo test test-release test-asan test-fuzz interop \
        bench lint clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

bootstrap:
	@tools/bootstrap.sh

deps: ## fetch the pinned ONNX schema, ONNX Runtime, libtorch, OpenVINO and ExecuTorch into .deps
	@python3 tools/fetch_deps.py .deps onnx onnxruntime libtorch openvino executorch

models: ## fetch the two models of the demo into .deps/models
	@python3 tools/fetch_deps.py .deps models

$(RELEASE)/build.ninja: | bootstrap deps
	cmake --preset release

build: bootstrap deps $(RELEASE)/build.ninja ## the release tool: build/release/bin/slipway
	cmake --build --preset release --parallel $(JOBS) --target $(TARGETS)

demo: build models ## export two real models to ONNX, chat with one, embed with the other
	tools/demo.sh

test: test-release test-asan test-fuzz ## every test: release, sanitizers, fuzzers

bootstrap-test:
	@tools/bootstrap.sh test

test-release: bootstrap-test deps models
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS)
	ctest --test-dir $(RELEASE) --output-on-failure --no-tests=error --parallel $(JOBS)

test-asan: bootstrap-test deps
	cmake --preset asan
	cmake --build --preset asan --parallel $(JOBS)
	ctest --test-dir build/asan --output-on-failure --no-tests=error --parallel $(JOBS)

test-fuzz: bootstrap-test deps
	cmake --preset fuzz
	cmake --build --preset fuzz --parallel $(JOBS)
	tools/fuzz.sh build/fuzz/bin $(FUZZ_SECONDS)

interop: build models ## the checks that need the Python reference or another tool
	tools/interop.sh
	tools/interop_layouts.sh

bench: build models ## speed and memory, beside a limit or a peer in the same run
	bench/run.sh

lint: bootstrap-test ## clang-format and clang-tidy over our sources (needs a configured release build)
	@tools/lint.sh $(RELEASE)

clean: ## remove the builds; fetched dependencies stay in .deps
	rm -rf build
