# `make` alone lists the targets.

UNIT     := { go list ./... | grep -v /integration/; go list ./integration/sim/...; } | xargs
GOBUILD  := CGO_ENABLED=0 go build -trimpath -ldflags '-s -w'

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# No prerequisites: go finds out what has changed.
.PHONY: build
build: ## build static binaries: bin/bobbin and bin/examples/*
	$(GOBUILD) -o bin/ ./client/cmd/bobbin
	$(GOBUILD) -o bin/examples/ ./examples/...

.PHONY: demo
demo: build ## count the words of a text (SIZE=100m) in one process; needs only Go
	scripts/demo $(SIZE)

.PHONY: demo-yarn
demo-yarn: build ## run the same job on a real HDFS and YARN, which it fetches, starts and stops
	scripts/demo-yarn $(SIZE)

.PHONY: test
test: ## fetch what the tests need, then run the unit tests and those on a real Hadoop that tell most; under ten minutes
	scripts/test -extent short

.PHONY: test-thorough
test-thorough: ## run what `make test` leaves out: dying daemons, each call of Hadoop's protocols, long random sequences
	scripts/test -extent rest

.PHONY: unit
unit: ## run the unit tests with the race detector
	scripts/test unit

.PHONY: integration
integration: ## run the tests against a real Hadoop, which it starts and stops
	scripts/test integration

.PHONY: test-long
test-long: ## run all of these, and the tests that take minutes, such as each Hadoop release with each protection; an hour
	scripts/test -extent long

.PHONY: test-repeat
test-repeat: ## run all tests but the long ones ten times, five of them on a busy machine, and log each run
	scripts/test-repeat

.PHONY: sim
sim: ## run RUNS (20000) schedules of a whole cluster in virtual time, from seed FROM (1)
	go run ./integration/sim/simulate -runs $(or $(RUNS),20000) -from $(or $(FROM),1)

.PHONY: sim-each
sim-each: ## let the master fail at each of its calls in the simulation, with the jobs of seed SEED (5)
	go test ./integration/sim -run TestTheMasterFailsAtEachCall -timeout 0 -each -each-seed $(or $(SEED),5)

.PHONY: sim-mutants
sim-mutants: ## plant bugs, one at a time, and check that the simulation finds each within 2000 schedules
	go run ./integration/sim/mutants

.PHONY: race
race: ## run the unit tests ten times in random order, with the race detector
	$(UNIT) go test -race -shuffle=on -count=10

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s), and list all findings
	scripts/fuzz $(or $(FUZZTIME),20s)

.PHONY: bench
bench: ## measure on a real HDFS and YARN, and write docs/BENCHMARKS.md; two hours
	scripts/bench

.PHONY: bench-submit
bench-submit: ## measure only sessions and submission, and Flink 1.20, which it fetches; eight minutes
	scripts/bench -only session,submit -o docs/BENCHMARKS.md

.PHONY: bench-scale
bench-scale: ## measure the ApplicationMaster of thousands of workers, and write it to docs/BENCHMARKS.md; ten minutes
	scripts/bench -only streams,nodes,scale -o docs/BENCHMARKS.md

.PHONY: bench-engine
bench-engine: ## measure word count, sort, join and group by of 1 GB beside Flink, the memory of workers that spill, and the exchange alone, and write them to docs/BENCHMARKS.md; three hours
	scripts/bench -only wordcount,sort,join,group,spilling,exchange -growth -manifold -smallest -o docs/BENCHMARKS.md

.PHONY: cover
cover: ## write coverage.html, which shows the lines that unit tests reach
	$(UNIT) go test -coverprofile=coverage.out
	go tool cover -html=coverage.out -o coverage.html
	go tool cover -func=coverage.out | tail -n 1

.PHONY: lint
lint: ## run the linters
	scripts/lint

.PHONY: generate
generate: ## regenerate code and pages, such as protobuf messages and docs/OPTIONS.md
	go generate ./...

.PHONY: web
web: ## test the page below web/, and build it into web/dist, which is committed; needs Node
	scripts/web

.PHONY: verify-generate
verify-generate: ## check that generated code and pages are current
	scripts/verify-generate

.PHONY: cluster-up
cluster-up: ## start a real HDFS and YARN on this machine
	scripts/cluster up

.PHONY: cluster-down
cluster-down: ## stop that cluster and remove its data
	scripts/cluster down

.PHONY: clean
clean: ## remove the output of build and tests
	rm -rf bin out coverage.out coverage.html
