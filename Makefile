# `make` without arguments prints the targets. The versions of tools are pinned
# here, so go.mod holds only what the service, its generator and its tests import.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
DEADCODE    := golang.org/x/tools/cmd/deadcode@v0.52.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
GOSEC       := github.com/securego/gosec/v2/cmd/gosec@v2.29.0
OASDIFF     := github.com/oasdiff/oasdiff@v1.30.0
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.14.0
# The newer of the two supported releases of Go; go.mod names the older.
NEXT_GO     := go1.27.4

VERSION := $(shell . deploy/package/version.sh)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BIN     := .bin/petstore

# The build tags of tests; CONTRIBUTING.md says what each needs. `make test` sets those in
# TAGS: the tags whose programs are installed or, in CI, all but citus, which Debian lacks. A
# missing program is then an error. A tag without files does nothing.
ALL_TAGS := postgres,citus,chromium,faults,wrk,deploy,sdk,attack,copy
has  = $(shell { [ -n "$$CI" ] || { PATH="$$PATH:/usr/sbin" && $(1); }; } >/dev/null 2>&1 && echo $(2))
TAGS := $(call has,command -v chromium,chromium) $(call has,command -v strace,faults)
TAGS += $(call has,{ ls /usr/lib/postgresql/*/bin/initdb || command -v initdb; } && command -v pgbouncer,postgres)
TAGS += $(shell ls /usr/share/postgresql/*/extension/citus.control >/dev/null 2>&1 && echo citus)
comma := ,
space := $(subst ,, )

# The race detector needs a C compiler. It does not see the memory of SQLite, which is C
# translated to Go. SQLite is therefore built without -race: the tests run four times as fast.
ifneq ($(shell command -v $$(go env CC) 2>/dev/null),)
NO_RACE := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory
GOTEST := CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 go test -race -vet=off -parallel 8 $(foreach pkg,$(NO_RACE),-gcflags=$(pkg)=-race=0)
else
GOTEST := go test -vet=off
NO_CC  := No race detector: it needs a C compiler. On Debian: apt-get install gcc libc6-dev
endif
# Tests also wait, so there are three packages at a time, even on two cores.
GOTEST += -p 3 -tags '$(subst $(space),$(comma),$(strip $(TAGS)))' -timeout 10m

# The second service is a module of its own, which ./... leaves out.
EXAMPLE  := engine/example

NPM_CI   := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
CONTRACT := internal/proof/contract
LINTERS  := $(CONTRACT)/linters
FUZZTIME ?= 30s

.DEFAULT_GOAL := help
.NOTPARALLEL: # check and check-all run one target after the other
.PHONY: help run build test test-next generate drift lint vulnerabilities lint-spec breaking contract fuzz schemathesis \
	sdk copy attack bench docs-ui package pack release release-check image deploy-check check check-all

# `make check` and the targets that it runs use only Go, git, cp and the shell's own commands. The
# first time, Go fetches the linters.
help: ## print the targets
	@while IFS= read -r line; do case $$line in [a-z]*:*'## '*) printf '  make %-15s %s\n' "$${line%%:*}" "$${line##*## }";; esac; done <Makefile

run: build ## serve http://127.0.0.1:8080 from the default store
	@exec $(BIN) serve

build: need-version ## build .bin/petstore, one static binary
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(BIN) ./cmd/petstore

# Local times differ from UTC, so that tests see them.
test: export TZ := Asia/Kathmandu
test: ## run all tests, with PostgreSQL, Chromium and strace if installed
	@$(info tags: $(or $(strip $(TAGS)),none) (CONTRIBUTING.md says what each needs))$(if $(NO_CC),$(info $(NO_CC)))
	$(GOTEST) ./...
	cd $(EXAMPLE) && $(GOTEST) ./...

test-next: ## run vet and the tests that need nothing but Go with the newer release of Go
	GOTOOLCHAIN=$(NEXT_GO) go vet ./...
	GOTOOLCHAIN=$(NEXT_GO) go test ./...

generate: ## write gen/ from openapi.yaml
	go generate ./gen/...
	cd $(EXAMPLE) && go generate ./gen/...

# Copies what is not generated to .bin/drift, by an index of its own, and generates the rest there.
drift: ## fail if gen/ is not up to date with openapi.yaml
	@git clean -qfdx .bin/drift
	@export GIT_DIR="$$(git rev-parse --absolute-git-dir)" GIT_WORK_TREE="$$PWD" && export GIT_INDEX_FILE="$$GIT_DIR/drift.index" && git read-tree --empty && \
	git add openapi.yaml tools.go go.mod go.sum gen $(EXAMPLE) ':!*.gen.go' ':!*gen/api/openapi.json' && git checkout-index --all --prefix=.bin/drift/
	@cd .bin/drift && go generate ./gen/... && cd $(EXAMPLE) && go generate ./gen/...
	@for gen in gen $(EXAMPLE)/gen; do git --no-pager diff --no-ext-diff --no-index $$gen .bin/drift/$$gen || \
	{ echo "$$gen is not up to date: run make generate and commit it" >&2; exit 1; }; done

lint: ## run gofumpt, vet, staticcheck and deadcode
	@out=$$(go run $(GOFUMPT) -l $$(git ls-files '*.go' ':!*.gen.go' ':!vendor')) && [ -z "$$out" ] || { echo "run go run $(GOFUMPT) -w on:"; echo "$$out"; exit 1; }
	go vet ./...
	go vet -tags $(ALL_TAGS) ./...
	go run $(STATICCHECK) -tags $(ALL_TAGS) ./...
	cd $(EXAMPLE) && go mod tidy -diff && go vet -tags postgres ./... && go run $(STATICCHECK) -tags postgres ./...
	@out=$$(go run $(DEADCODE) -tags $(ALL_TAGS) -test ./...) && [ -z "$$out" ] || { echo 'unreachable:'; echo "$$out"; exit 1; }

# The excluded rules find no faults here: G101 reports names that look like secrets, G115
# conversions of numbers in a known range, G304 files that the operator names.
vulnerabilities: ## run govulncheck and gosec on the program; needs a network
	go run $(GOVULNCHECK) ./cmd/petstore
	go run $(GOSEC) -quiet -exclude-generated -exclude=G101,G115,G304 -exclude-dir=internal/proof -exclude-dir=internal/store/storetest -exclude-dir=engine/example -exclude-dir=engine/contract ./...

# need-PROGRAM fails if the program is missing, and says how to install it.
need-%:
	@PATH="$$PATH:/usr/sbin:/sbin" && command -v $* >/dev/null || \
	{ echo 'This needs $*. On Debian: apt-get install $(or $(PACKAGES_$*),$*)' >&2; exit 1; }
PACKAGES_npm       := nodejs npm
PACKAGES_docker    := docker.io
PACKAGES_ip        := iproute2
PACKAGES_javac     := default-jdk-headless
PACKAGES_mvn       := maven
PACKAGES_promtool  := prometheus
PACKAGES_systemctl := systemd
need-venv: need-python3
	@python3 -c 'import ensurepip' 2>/dev/null || { echo 'This needs venv of Python. On Debian: apt-get install python3-venv' >&2; exit 1; }
need-version: # make ignores that version.sh has failed
	@[ -n '$(VERSION)' ] || { echo 'deploy/package/version.sh prints no version.' >&2; exit 1; }
need-root:
	@[ "$$(id -u)" = 0 ] || command -v sudo >/dev/null || { echo 'This needs root, or sudo.' >&2; exit 1; }

NEEDS_SDK    := $(addprefix need-,npm venv curl javac mvn)
NEEDS_DEPLOY := need-root $(addprefix need-,dpkg systemctl ip podman podman-compose runc nginx promtool sqlite3 curl openssl)

.bin/linters: $(LINTERS)/package.json $(LINTERS)/package-lock.json | need-npm
	@mkdir -p $@ && cp $^ $@ && $(NPM_CI) --prefix $@ && touch $@

# All rules of Redocly except two. A minLength would reject values that the specification
# allows, and the specification defines its own error body, as application/json.
lint-spec: .bin/linters ## check openapi.yaml with the rules of Redocly
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true .bin/linters/node_modules/.bin/redocly lint --format stylish --extends all \
	--skip-rule required-string-property-missing-min-length --skip-rule operation-4xx-problem-details-rfc7807 openapi.yaml

# breaking-levels.txt lists changes that oasdiff, unlike us, considers harmless.
# breaking-exceptions.txt lists accepted changes, each with its reason.
BREAKING := go run $(OASDIFF) breaking --fail-on WARN --severity-levels $(CONTRACT)/breaking-levels.txt \
	--err-ignore $(CONTRACT)/breaking-exceptions.txt --warn-ignore $(CONTRACT)/breaking-exceptions.txt
breaking: ## fail if openapi.yaml breaks clients of the specification or of the last release
	@$(BREAKING) $(CONTRACT)/specification.yaml openapi.yaml
	@tag=$$(git describe --tags --match 'v*' --abbrev=0 HEAD~ 2>/dev/null) || { echo 'There is no earlier release to compare with.'; exit 0; }; \
	mkdir -p .bin && git show "$$tag:openapi.yaml" >.bin/released.yaml && $(BREAKING) .bin/released.yaml openapi.yaml

contract: ## test the service, or the server at URL (with or without /v1) with KEY, against the contract
	cd $(CONTRACT) && go test -count=1 $(if $(URL),-run TestContract)

fuzz: ## send random bodies to the decoder for FUZZTIME (30s)
	go test -run '^$$' -fuzz FuzzBody -fuzztime $(FUZZTIME) ./engine/edge

FUZZER := $(CONTRACT)/schemathesis
.bin/schemathesis: $(FUZZER)/requirements.txt | need-venv
	@python3 -m venv --clear $@ && $@/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $< && touch $@
schemathesis: .bin/schemathesis build ## send random requests with Schemathesis
	@$(BIN) serve --sandbox --addr 127.0.0.1:0 >.bin/sandbox.env 2>.bin/sandbox.log & server=$$!; trap 'kill $$server' EXIT; \
	until grep -q PETSTORE_KEY .bin/sandbox.env; do kill -0 $$server || { cat .bin/sandbox.log; exit 1; }; sleep 0.1; done; \
	. .bin/sandbox.env && export PETSTORE_KEY PYTHONPATH=$(FUZZER) PYTHONDONTWRITEBYTECODE=1 && \
	.bin/schemathesis/bin/python -m schemathesis.cli --config-file $(FUZZER)/schemathesis.toml run openapi.yaml --url "$$PETSTORE_URL" $(if $(SEED),--seed $(SEED))

sdk: $(NEEDS_SDK) ## run the programs and commands of .github/CLIENTS.md; needs a network
	go test -count=1 -tags sdk -timeout 20m ./internal/proof/sdk/...

copy: ## run the commands of COPY.md: copy the service, update its engine/, remove parts
	go test -count=1 -tags copy -timeout 20m ./internal/proof/copy

attack: build ## measure memory, and how long another client waits, under known attacks
	go test -count=1 -v -tags attack -timeout 20m ./internal/proof/attack

bench: export GOGC :=
# Both servers are built in the same way, which makes a few percent.
bench: need-wrk build ## compare with the stack as documented (ROUNDS=11, ONLY=memory or sqlite, BESIDE=another build)
	@CGO_ENABLED=0 go test -c -trimpath -ldflags '-s -w' -tags wrk -o .bin/bench ./internal/proof/bench && cd internal/proof/bench && \
	taskset -c 0 '$(CURDIR)/.bin/bench' -test.run '^$$' -test.bench 'Petstore/^($(or $(ONLY),memory|sqlite))$$' -test.benchtime 1x $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(BESIDE),-beside $(abspath $(BESIDE)))

docs-ui: need-npm ## update the user interface of /docs from the npm package pinned in engine/docs/ui
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && cd engine/docs/ui && \
	cp package.json package-lock.json terms.mjs "$$tmp" && $(NPM_CI) --prefix "$$tmp" && \
	gzip -9nc "$$tmp/node_modules/@scalar/api-reference/dist/browser/standalone.js" >scalar.js.gz && \
	(cd "$$tmp" && node terms.mjs) >LICENSES.txt

# .goreleaser.yaml runs "make pack" for each program of a release.
package release: export VERSION := $(VERSION)
# Both are for Linux, also on a Mac.
package image: export GOOS := linux
package: build ## build the .deb for this machine in .bin/dist
	sh deploy/package/prepare.sh
	@$(MAKE) --no-print-directory pack PROGRAM=$(BIN) ARCH=$$(go env GOARCH)

pack:
	@mkdir -p .bin/dist && export SOURCE_DATE_EPOCH=$$(git log -1 --no-show-signature --format=%ct 2>/dev/null || date -r .github/CHANGELOG.md +%s) && \
	GOOS= GOARCH= go run $(NFPM) package --config deploy/package/nfpm.yaml --packager deb --target .bin/dist

release: need-version ## build archives, packages, SBOMs and checksums in .bin/dist
	go run $(GORELEASER) release --clean $(FLAGS)
FLAGS = --snapshot

release-check:
	go run $(GORELEASER) check --quiet

# podman's own format has no HEALTHCHECK.
image: need-$(or $(IMAGE),docker) build ## build the image petstore:latest with docker (or IMAGE=podman)
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && dir="$$tmp/linux/$$(go env GOARCH)" && mkdir -p "$$dir" "$$tmp/.bin/data" && cp $(BIN) "$$dir" && \
	BUILDAH_FORMAT=docker $(or $(IMAGE),docker) build --tag petstore:latest --build-arg TARGETPLATFORM=linux/$$(go env GOARCH) --file deploy/Dockerfile "$$tmp"

deploy-check: $(NEEDS_DEPLOY) build ## test deploy/ with the programs that operators use; needs root on Debian
	go test -count=1 -tags deploy,postgres -parallel 8 -timeout 20m $(if $(filter-out 0,$(shell id -u)),-exec 'sudo -E env PATH=$$PATH') ./internal/proof/deploy

check: lint drift test ## lint, drift and test: what to run before a commit; needs only Go, git and make

check-all: $(NEEDS_SDK) $(NEEDS_DEPLOY) check lint-spec breaking sdk copy deploy-check test-next ## check, and the checks that need other programs or a network
