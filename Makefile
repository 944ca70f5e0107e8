# Every command that people and CI need. Tools are installed by version into bin/; nothing else is written outside.
GO ?= go
BIN := $(CURDIR)/bin
export PATH := $(BIN):$(PATH)

# Everything is built without cgo, as the released binaries are. So builds, checks and tests share what they compile. Only the race
# detector needs cgo.
export CGO_ENABLED := 0

# Paths of this machine are in no binary, so that a copy of the sources in another folder is not compiled anew.
export GOFLAGS := -trimpath -ldflags=-w $(GOFLAGS)

# Binaries carry no symbol table and no debug information: a third less. A release adds VERSION=v1.2.3. The stamp, a hash of all
# that is compiled, says that pawl and pawl-hook were built from the same sources.
STAMP = $(shell { $(GO) version; find *.go go.mod go.sum cmd internal -type f ! -name '*_test.go' ! -path '*/testdata/*' | LC_ALL=C sort | xargs cat; } | git hash-object --stdin)
LDFLAGS = -s -w $(if $(STAMP),-X pawl/internal/version.stamp=pawl-sources:$(STAMP)) $(if $(VERSION),-X pawl/internal/version.release=$(VERSION))

STATICCHECK_VERSION := v0.8.2
DEADCODE_VERSION := v0.52.0

# The race detector needs a C compiler. Without one the tests run without it.
RACE := $(shell command -v $$($(GO) env CC) >/dev/null 2>&1 && echo -race)

.PHONY: build built temporal test test-quick test-server test-kernels test-gyoshu test-remotes page cover check cross cross-short torture torture-forecast torture-kernels torture-machines torture-short bench bench-short packages test-packages test-packages-short notice secrets-rules agents agents-short resumebench mutations fuzz fuzz-short mcp-conformance tools postgres clean

build: ## the binaries, bin/pawl and bin/pawl-hook
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/pawl ./cmd/pawl-hook

# A larger heap saves a tenth of the processor time of compilers, checkers and tests.
test check: export GOGC := 400

# The programs that stories run are built once for all packages. A program that has not changed keeps its time, so that the go command
# can reuse results of tests.
BUILT := $(BIN)/_built
test test-server test-kernels test-gyoshu test-remotes: export PAWL_BUILT := $(BUILT)
built:
	@$(GO) build -o $(BUILT)/new/ ./cmd/pawl ./cmd/pawl-hook
	@for p in pawl pawl-hook; do cmp -s $(BUILT)/new/$$p $(BUILT)/$$p || cp $(BUILT)/new/$$p $(BUILT)/; done

temporal: ## bin/pawl-temporal, of the module in temporal; make -C temporal test tests it
	cd temporal && $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/pawl-temporal

test: tools check built ## everything that must pass before a change lands
	$(RACED) -skip '^($(FAULT_TESTS))$$' $(filter-out $(SERVER_TESTS) $(KERNEL_TESTS) $(GYOSHU_TESTS),$(CONCURRENT))
	$(TESTS) -run '^($(FAULT_TESTS))$$' $(filter-out $(SERVER_TESTS) $(KERNEL_TESTS) $(GYOSHU_TESTS),$(CONCURRENT))
	$(TESTS) $$($(GO) list ./... | grep -vxF "$$(printf '%s\n' $(CONCURRENT) $(SERVER_TESTS) $(KERNEL_TESTS) $(GYOSHU_TESTS) $(REMOTE_TESTS))")

# Two packages at a time on each core: tests often wait for processes.
TESTS = $(GO) test -vet=off -p $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
RACED = CGO_ENABLED=$(if $(RACE),1,0) $(TESTS) $(RACE)

# The packages whose tests need programs that `make test-server` installs: Postgres, Chromium.
SERVER_TESTS = pawl/internal/postgres pawl/internal/interop/tables/pgtables pawl/test/stories/postgres pawl/test/page

test-server: tools postgres built ## runs in Postgres, with a server that the tests start; the page of pawl serve in Chromium, and whether it was built from its sources
	@command -v chromium >/dev/null || ./scripts/need chromium
	./scripts/page $(BIN)/_page $(BIN)/_page/dist
	$(RACED) -skip '^($(FAULT_TESTS))$$' pawl/internal/postgres
	$(TESTS) -run '^($(FAULT_TESTS))$$' pawl/internal/postgres
	$(TESTS) $(filter-out pawl/internal/postgres,$(SERVER_TESTS))

# The packages whose tests need kernels that `make test-kernels` installs. Those that start goroutines themselves run under the race
# detector; the others run the built programs.
KERNEL_TESTS = $(RACED_KERNEL_TESTS) pawl/internal/kernel/variablestest pawl/test/notebooks pawl/test/kernels pawl/test/kernels/realnotebooks
RACED_KERNEL_TESTS = pawl/internal/kernel/jupyter pawl/internal/kernel/remote

test-kernels: built ## Jupyter kernels in Python, R and JavaScript, which it installs, and notebooks from packages, which it fetches
	./scripts/kernels $(BIN)/_tslab
	./scripts/realnotebooks $(BIN)/_notebooks
	PAWL_TSLAB=$(BIN)/_tslab $(RACED) -timeout 30m $(RACED_KERNEL_TESTS)
	PAWL_REAL_NOTEBOOKS=$(BIN)/_notebooks $(TESTS) -timeout 30m $(filter-out $(RACED_KERNEL_TESTS),$(KERNEL_TESTS))

# The packages whose tests need the public implementation of Gyoshu, which is in no registry.
GYOSHU_TESTS = pawl/test/gyoshu

test-gyoshu: built ## Gyoshu's own code reads what pawl writes; fetches it from GitHub, or from the repository GYOSHU=…
	./scripts/need node npm python3
	./scripts/gyoshu $(BIN)/_gyoshu
	PAWL_GYOSHU=$(BIN)/_gyoshu $(TESTS) $(GYOSHU_TESTS)

# The packages whose tests need the servers that `make test-remotes` installs: an S3 server, an OCI registry.
REMOTE_TESTS = pawl/test/remotes pawl/test/stories/stores

test-remotes: built $(BIN)/versitygw ## remotes in an S3 server, which takes some minutes to install once, and in an OCI registry
	./scripts/need docker-registry
	$(TESTS) $(REMOTE_TESTS)

VERSITYGW_VERSION := v1.8.0

$(BIN)/versitygw: Makefile
	GOBIN=$(BIN) $(GO) install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	@touch $@

RESTIC_VERSION := v0.18.1

$(BIN)/restic: Makefile
	GOBIN=$(BIN) $(GO) install github.com/restic/restic/cmd/restic@$(RESTIC_VERSION)
	@touch $@

page: ## bundles the page of pawl serve: internal/server/page/dist from internal/server/page/src
	./scripts/page $(BIN)/_page internal/server/page/dist

# The packages that start goroutines or share memory between them. Their tests run under the race detector. It makes tests three times
# as slow, and finds nothing in the others.
CONCURRENT = $(shell ./scripts/concurrent)

# The tests that kill a process, or make its calls fail, at the calls that change the disk. Each starts hundreds of
# processes, so they run without the race detector.
FAULT_FILES = $(shell git grep --untracked -l 'disktest.FaultVar' -- '*faults_test.go')
FAULT_TESTS = $(shell grep -hoE '^func Test[A-Z][A-Za-z0-9_]*' $(FAULT_FILES) | sed 's/^func //' | sort -u | paste -sd '|' -)

test-quick: $(BIN)/staticcheck ## one package while you work: PKG=./internal/x, and stories that match STORIES='gate_|fork'
	@[ -n "$(PKG)" ] || { echo "usage: make test-quick PKG=./internal/x [STORIES=regex]"; exit 2; }
	@unformatted=$$(gofmt -l $(PKG)); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet $(PKG)
	$(BIN)/staticcheck $(PKG)
	$(GO) test $(PKG)
	$(GO) test -run 'Imports|Habits' .
	$(if $(STORIES),$(GO) test $$(git grep --untracked -l . -- 'test/stories/*.txtar' | grep -E '/($(STORIES))[^/]*$$' | sed -E 's|(.*)/testdata/.*|./\1|' | sort -u) -run 'Script/($(STORIES))')

cover: ## the coverage of each package by its own tests and by stories; PKG=./internal/x runs only the own tests of that
	./scripts/cover $(PKG)

check: $(BIN)/staticcheck $(BIN)/deadcode ## formatting, vet, staticcheck, dead code
	@unformatted=$$(git ls-files -z '*.go' | xargs -0 gofmt -l); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(BIN)/staticcheck ./...
	./scripts/deadcode

cross: ## compiles pawl and pawl-temporal for every platform that pawl supports, and pawl for Windows, where pawl only prints an error
	$(GO) build ./...
	cd temporal && $(GO) build ./...
	@for target in $(filter-out $(HOST),$(PLATFORMS)); do \
	  echo "build $$target"; export GOOS=$${target%/*} GOARCH=$${target#*/}; $(GO) build -gcflags='all=-N -l' ./... && \
	  (cd temporal && $(GO) build -o /dev/null -gcflags='all=-N -l' ./cmd/...) || exit 1; done
	@echo "build windows/amd64"; GOOS=windows $(GO) build -o /dev/null ./cmd/pawl

cross-short: PLATFORMS = linux/amd64 darwin/arm64
cross-short: cross ## compiles for every system once, and for every architecture once

PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
# Other platforms are compiled without optimization, which takes a third less.
HOST = $(shell $(GO) env GOHOSTOS)/$(shell $(GO) env GOHOSTARCH)

tools: $(BIN)/staticcheck $(BIN)/deadcode ## what the tests need beyond Go, git and a shell
	@./scripts/need python3 strace node

postgres: ## the programs of a Postgres server
	@command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || ./scripts/need postgresql

$(BIN)/deadcode: Makefile
	GOBIN=$(BIN) $(GO) install golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)
	@touch $@

$(BIN)/staticcheck: Makefile
	GOBIN=$(BIN) $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	@touch $@

torture: postgres torture-forecast torture-kernels ## kills, faults, power cuts and damage, at length; and the fault tests with every kind of fault at every call
	PAWL_ALL_CASES=1 $(GO) test -count=1 -timeout 60m -run '^($(FAULT_TESTS))$$' $(addprefix ./,$(sort $(dir $(FAULT_FILES))))
	PAWL_ALL_CASES=1 $(GO) test -count=1 -timeout 60m $(filter-out ./test/kernels/,$(addprefix ./,$(sort $(dir $(shell git grep --untracked -l '"pawl/test/cases"' -- '*_test.go')))))
	$(GO) run ./test/torture

torture-forecast: ## what `pawl why` says is what resume does, in 10,000 random cases
	PAWL_ALL_CASES=1 $(GO) test ./internal/engine -run TestForecast -rapid.checks=2500 -timeout 2h

torture-kernels: built ## runs of a notebook, killed at each message of the kernel and 1,000 times at random; KERNELS_FLAGS='-seed 1 -deaths 50' for others
	./scripts/need python3-ipykernel python3-nbformat
	PAWL_BUILT=$(BUILT) PAWL_ALL_CASES=1 $(GO) test -count=1 -v -timeout 6h ./test/kernels $(KERNELS_FLAGS)

torture-machines: postgres $(BIN)/versitygw ## kills what runs on several machines, whole machines and their network; as root on Linux; MACHINES_FLAGS='-seed 1 -steps 30 -kills 20' for others
	./scripts/need ip
	$(GO) run ./test/machines $(MACHINES_FLAGS)

torture-short: tools postgres $(BIN)/versitygw
	$(GO) run ./test/torture -short -seed 2026
	$(GO) run ./test/machines -short -seed 2026

bench: postgres $(BIN)/versitygw $(BIN)/restic ## speed as ratios to baselines in the same run; without borg and rsync, two baselines, if they cannot be installed
	-@./scripts/need borg rsync
	./scripts/need python3-ipykernel python3-nbclient
	$(GO) run ./test/bench -kernels

bench-short: postgres
	$(GO) run ./test/bench -short

NFPM_VERSION := v2.43.0
# The version of packages: that of the release, or one that sorts before every release.
PACKAGE_VERSION = $(or $(VERSION:v%=%),0.0.0-pre)

packages: $(BIN)/nfpm ## deb, rpm, apk, archives and SHA256SUMS in bin/packages; VERSION=v1.2.3 for a release, ARCHES='amd64' for fewer
	./scripts/packages $(BIN)/packages '$(PACKAGE_VERSION)' '$(LDFLAGS)' $(ARCHES)

ARCHES = amd64 arm64

test-packages: ## opens the packages, installs the Debian one, and runs the image's file system, in roots made by debootstrap; as root, on Debian
	./scripts/need debootstrap buildah qemu-aarch64-static unshare nsenter ip rpm systemd-analyze
	$(MAKE) build packages
	PAWL_PACKAGES=$(BIN)/packages PAWL_ARCHES='$(ARCHES)' PAWL_ROOTS=$(BIN)/_roots $(GO) test -count=1 -timeout 30m -tags packages ./test/packages

test-packages-short: ARCHES = $(shell $(GO) env GOARCH)
test-packages-short: ## builds the packages of one architecture, and opens them
	./scripts/need rpm systemd-analyze
	$(MAKE) packages ARCHES=$(ARCHES)
	PAWL_PACKAGES=$(BIN)/packages PAWL_ARCHES=$(ARCHES) $(GO) test -count=1 -tags packages ./test/packages -run 'TestContents|TestUnit'

$(BIN)/nfpm: Makefile
	GOBIN=$(BIN) $(GO) install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)
	@touch $@

notice: ## writes NOTICE, the licenses of all linked modules; a test fails where it is out of date
	$(GO) run ./test/notice > NOTICE.new && mv NOTICE.new NOTICE

# The rule file of gitleaks: a path or an address. The generated file names its version.
GITLEAKS_VERSION := v8.30.1
GITLEAKS_RULES ?= https://raw.githubusercontent.com/gitleaks/gitleaks/$(GITLEAKS_VERSION)/config/gitleaks.toml

secrets-rules: ## the shapes of secrets in internal/redact, from the rules of gitleaks: GITLEAKS_RULES=path or address
	@mkdir -p $(BIN)
	$(GO) run ./internal/redact/generate -version $(GITLEAKS_VERSION) '$(GITLEAKS_RULES)' > $(BIN)/rules.new
	mv $(BIN)/rules.new internal/redact/gitleaks_rules.go

agents: ## real coding agents, fetched from npm, against a model of our own, without any network (PAWL_REAL_AGENTS=gemini,codex chooses)
	$(GO) run ./test/clients

agents-short: ## Gemini CLI alone, in the project's folder
	PAWL_REAL_AGENTS=gemini $(GO) run ./test/clients -stories alone,pairs,main $(AGENTS_FLAGS)

resumebench: ## rate what a new session learns about earlier work; other tools with RESUMEBENCH_FLAGS='-tool pawl -tool NAME=COMMAND'
	$(GO) run ./test/resumebench $(RESUMEBENCH_FLAGS)

mutations: ## break the behavior behind the rows of docs/seed-systems, and check that their tests fail; MUTATIONS='-chunk 1/8' runs a part
	$(GO) run ./test/mutations $(MUTATIONS)

fuzz: ## all fuzz targets with ten million inputs in all, each with 100,000 or more
	./scripts/fuzz 100000x 10000000

fuzz-short: ## each fuzz target with a thousand inputs
	./scripts/fuzz 1000x

mcp-conformance: build ## pawl mcp against the protocol's conformance suites and the inspector, which npm fetches into bin/
	./scripts/mcp-conformance $(BIN)/pawl $(BIN)/mcp-conformance

clean:
	rm -rf $(BIN)
