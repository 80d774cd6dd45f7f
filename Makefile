# Everything that is downloaded or built lies in paths git ignores: .venv,
# .bench, .build, .peers, node_modules, dist. The first run fetches; later ones do not.

PYTHON ?= python3
TIME   ?= 30s
CHECKS ?= 5000
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help demo test test-go race check cross wasm wasm-verify test-wasm test-arm64 test-js viewer test-viewer test-python fuzz mutants models torture soak sharing bench bench-quick bench-go peers lock proof clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## read single subchunks through all four doors and show what that costs
	@scripts/demo.sh

test: ## set up and run everything: Go (with -race), the sdk under wasip1, the shuffles on arm64, JavaScript, Python
	@scripts/test.sh

test-go: ## the Go tests, without the race detector
	go test ./...

race: ## the Go tests, with the race detector
	@scripts/race.sh

check: ## fmt, vet, tidy, generated files fresh, licences and known vulnerabilities of what is used
	@scripts/check.sh

cross: ## build for every platform we name
	@scripts/cross.sh

wasm: ## build the guest, wasm/gridhold.wasm and the file beside it
	@wasm/build.sh

wasm-verify: ## build the guest again and compare
	@wasm/build.sh --check

test-wasm: ## the tests of sdk, run as a wasip1 guest
	@scripts/test-wasm.sh

test-arm64: ## the tests of the shuffles and codecs as arm64 runs them, under qemu where it is not one
	@scripts/test-arm64.sh

test-js: ## build and test bindings/js
	@scripts/test-js.sh

viewer: ## gather what the page of "gridhold serve" needs of bindings/js, which is committed
	@scripts/viewer.sh

test-viewer: ## open that page in Chromium
	@scripts/viewer.sh --test

test-python: ## make .venv and test bindings/python
	@scripts/test-python.sh

fuzz: ## run every fuzz test for TIME=30s
	@scripts/fuzz.sh $(TIME)

mutants: ## damaged files, read here and by the libraries that made them
	@REQUIRE_PEERS=1 GRIDHOLD_MUTANTS='{"rounds": 6, "seed": 7}' GRIDHOLD_PROOF=$(CURDIR)/docs/proof/mutants.json go test -count=1 -timeout 60m -run '^TestMutants' ./internal/interop

models: ## containers, stores, scratches, their budgets and shards against plain models, with crashes: CHECKS sequences of each
	@GRIDHOLD_CHECKS=$(CHECKS) GRIDHOLD_PROOF=$(CURDIR)/docs/proof go test -count=1 -timeout 24h -run '^TestModelOf' ./sdk/blosc2 ./sdk/scratch ./sdk/zarr

torture: ## processes that share containers and stores, killed at random, for TIME
	@REQUIRE_PEERS=1 GRIDHOLD_TORTURE=$(TIME) GRIDHOLD_PROOF=$(CURDIR)/docs/proof/torture.json go test -count=1 -timeout 24h -v -run '^TestTorture$$' ./internal/interop

soak: ## servers under good, slow and malformed clients, for TIME
	@GRIDHOLD_SOAK=$(TIME) GRIDHOLD_PROOF=$(CURDIR)/docs/proof/soak.json go test -count=1 -timeout 24h -v -run '^TestSoak' ./internal/soak

sharing: ## the tests of shared containers, as often as it takes to be sure (10 minutes)
	@REQUIRE_PEERS=1 GRIDHOLD_SHARING=whole go test -count=1 -timeout 30m -run '^TestSharing' ./internal/interop

bench: ## ours and the peers, interleaved in one run, one table: docs/benchmarks.md; SIZE=1024 MiB of Blosc2
	@scripts/bench.sh $(if $(SIZE),--size $(SIZE))

bench-quick: ## the same table in few rounds of small data, in under 5 minutes
	@scripts/bench.sh --quick

bench-go: ## Go's own benchmarks of the hot paths; BASE=rev compares with another revision
	@scripts/bench-go.sh $(BASE)

peers: ## install the other Zarr libraries, which internal/interop tests against
	@scripts/peers.sh

lock: ## pin what the Python requirements need in turn, with digests
	@scripts/lock.sh

proof: ## make docs/proof.md of what long runs counted
	@go test -count=1 -run '^TestPage$$' ./internal/proof -update

clean: ## remove what was built and downloaded
	rm -rf .venv .bench .build .peers bindings/js/node_modules bindings/js/dist internal/interop/peers/node_modules
