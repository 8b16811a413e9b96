# Each target does its own set-up on a fresh Debian or Ubuntu machine that has Rust.

CARGO ?= cargo

.PHONY: help try test bench docs prove package fmt lint setup

help:
	@echo "make try    watch real requests being balanced, and a server being killed"
	@echo "make test   the whole suite, end-to-end included"
	@echo "make bench  side by side with HAProxy, nginx and others (minutes)"
	@echo "make docs   the documentation as a site with search, in target/site"
	@echo "make prove  the long runs; writes docs/proof/ (hours)"
	@echo "make package  deb, rpm, tarball, container image, SBOM and checksums, in target/package"
	@echo "make lint   what the gate says about form; make fmt mends the formatting"
	@echo "make setup  only installs what the others need"
	@echo ".ci/run     the gate: all of it, as it must pass before a change lands"

try:
	@tests/setup build
	$(CARGO) run --locked --profile quick -p steelyard -- try

test:
	@tests/setup build test
	$(CARGO) build --locked --profile quick -p steelyard
	STEELYARD=$(CURDIR)/target/quick/steelyard CARGO=$(CARGO) tests/all

bench:
	@tests/setup build bench
	$(CARGO) build --locked --release -p steelyard
	$(CARGO) build --locked --release -p lab -p l7 --examples
	bench/run

docs:
	@tests/setup site
	site/build

prove:
	@tests/setup build test bench
	tests/prove

package:
	@tests/setup build package
	$(CARGO) build --locked --release -p steelyard
	packaging/build

fmt:
	$(CARGO) fmt --all

lint:
	.ci/run format lints docs

setup:
	@tests/setup build test bench
