# How we work on the pet store service. `make` alone prints the targets.
# Tools run from pinned module versions of their own, so go.mod holds only the
# needs of the service and its generator.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
GOSEC       := github.com/securego/gosec/v2/cmd/gosec@v2.29.0
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
DEADCODE    := golang.org/x/tools/cmd/deadcode@v0.52.0
OASDIFF     := .bin/oasdiff-v1.30.0/oasdiff

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT   := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BIN      := .bin/petstore
# The build tags of tests, and what each needs:
#   postgres    a PostgreSQL server, and PgBouncer before it
#   torture     the same and minutes: servers are killed under load
#   chromium    the browser Chromium
#   wrk         the load generator wrk
#   deploy      the container tools that deploy-check names
#   thirdparty  the programs that breaking, conformance, sdk and third-party install
# The checkers see the files of all.
ALL_TAGS := postgres,torture,chromium,wrk,deploy,thirdparty
FUZZTIME ?= 30s
ROUNDS   ?= 3
SOAK     ?= 1h

# The race detector needs cgo, and so a C compiler. It leaves SQLite out, which is C
# translated to Go and keeps its data outside Go's heap: the detector sees nothing
# there, and the tests of the store would take four times as long. At the end of a
# program it waits for late races 50 ms, not 1 s. Vet is a part of lint.
# Many tests wait for a server, so more run at a time than there are processors.
HAVE_CC := $(shell command -v $$(go env CC) >/dev/null 2>&1 && echo yes)
ifeq ($(HAVE_CC),yes)
UNSEEN := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory
RACE   := CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 go test -race -vet=off -parallel 4 $(foreach pkg,$(UNSEEN),-gcflags=$(pkg)=-race=0)
else
RACE := go test
endif

# In CI the tests with the tags postgres, chromium and wrk always run: they fail
# where a program is missing.
HAVE_POSTGRES := $(shell ([ -n "$$CI" ] || { ls /usr/lib/postgresql/*/bin/initdb || command -v initdb; } && { ls /usr/sbin/pgbouncer || command -v pgbouncer; }) >/dev/null 2>&1 && echo yes)
ifeq ($(HAVE_POSTGRES),yes)
TAGS += postgres
endif

HAVE_CHROMIUM := $(shell ([ -n "$$CI" ] || command -v chromium) >/dev/null 2>&1 && echo yes)
ifeq ($(HAVE_CHROMIUM),yes)
TAGS += chromium
endif

HAVE_WRK := $(shell ([ -n "$$CI" ] || command -v wrk) >/dev/null 2>&1 && echo yes)
ifeq ($(HAVE_WRK),yes)
TAGS += wrk
endif

# Programs for Node and Python are installed below .bin, each version and hash
# as the lock file has it. NODE is the oldest they run on.
NODE    := 18.20.0
NPM_CI  := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
LINTERS := .bin/linters
JUDGES := .bin/conformance
SPECTRAL := $(LINTERS)/node_modules/.bin/spectral lint --fail-severity hint --ruleset internal/proof/contract/linters/spectral.yaml
REDOCLY  := REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(LINTERS)/node_modules/.bin/redocly lint --format stylish --config internal/proof/contract/linters/redocly.yaml

# The languages that have a client, or the ones that ONLY names.
CLIENTS := go typescript python java
SDKS    := $(or $(filter $(CLIENTS),$(ONLY)),$(CLIENTS))
ifneq ($(filter-out $(CLIENTS),$(ONLY)),)
$(error ONLY is "$(ONLY)": there are clients for $(CLIENTS))
endif

# A server under measurement has processor 0 to itself, the load processor 1.
ON_LOAD_CPU := $(shell command -v taskset >/dev/null 2>&1 && [ "$$(getconf _NPROCESSORS_ONLN)" -gt 1 ] && echo 'taskset -c 1')

.DEFAULT_GOAL := help
.PHONY: need-deploy need-node need-python need-wrk $(shell sed -n 's/^\([a-z-]*\):.*## .*/\1/p' $(MAKEFILE_LIST))

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## serve on 127.0.0.1:8080 from petstore.db, with an API key in hand
	@exec $(BIN) serve

build: ## build .bin/petstore, static
	@[ -x $(BIN) ] || echo 'Building the program. The first time, Go fetches and compiles what it needs: a minute or two.' >&2
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(BIN) ./cmd/petstore

RELEASE_TOOLS := .bin/release-tools
PLATFORMS     ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

$(RELEASE_TOOLS)/built: $(addprefix internal/proof/release/tools/,go.mod go.sum man/main.go)
	@mkdir -p $(@D) && go -C internal/proof/release/tools build -trimpath -o '$(CURDIR)/$(@D)/' tool ./man && touch $@

release: $(RELEASE_TOOLS)/built ## archives, packages, SBOMs and checksums for PLATFORMS (all) in .bin/release
	@go run ./internal/proof/release -tools $(RELEASE_TOOLS) -out .bin/release -platforms '$(PLATFORMS)'

image: build ## build the container image petstore:latest (IMAGE=buildah or podman: with that, else docker)
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && mkdir "$$tmp/data" && cp $(BIN) "$$tmp" && \
	$(or $(IMAGE),docker) build --tag petstore:latest $(IMAGE_FLAGS) --file deploy/Dockerfile "$$tmp"

# Namespaces, containers and ports below 1024 are for root alone: of the checks,
# the test program runs as root, and asks for it.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo "-exec 'sudo -E env PATH=$$PATH'")
DEPLOY_PROGRAMS := buildah caddy catatonit curl dpkg-deb ip iptables nginx openssl podman prometheus promtool psql rpm runc sqlite3 systemd-analyze unshare

need-deploy:
	@for p in $(DEPLOY_PROGRAMS); do PATH="$$PATH:/usr/sbin:/sbin" command -v $$p >/dev/null || { echo "make deploy-check needs $$p; install it (Debian: apt install buildah caddy catatonit curl iproute2 iptables nginx openssl podman postgresql prometheus rpm runc sqlite3 systemd) and run make again." >&2; exit 1; }; done
	@sh internal/proof/deploy/testdata/host.sh

MANIFESTS := internal/proof/deploy/manifests
.bin/manifests: $(MANIFESTS)/main.go $(MANIFESTS)/go.mod $(MANIFESTS)/go.sum
	@go -C $(MANIFESTS) build -trimpath -o '$(CURDIR)/$@' .

deploy-check: need-deploy build $(RELEASE_TOOLS)/built .bin/manifests ## run what deploy/ has: proxies, units, containers, Kubernetes, alerts, a release
	PATH="$$PATH:/usr/sbin:/sbin" go test -count=1 -tags deploy -timeout 20m $(AS_ROOT) ./internal/proof/deploy

test: ## all tests, those that need PostgreSQL, Chromium, wrk or a C compiler where there is one
ifneq ($(HAVE_CC),yes)
	@echo 'No C compiler found, so the tests run without the race detector; install gcc or clang to have it.'
endif
ifneq ($(HAVE_POSTGRES),yes)
	@echo 'PostgreSQL or PgBouncer is missing, so the tests that need them do not run; install postgresql and pgbouncer to have them.'
endif
ifneq ($(HAVE_CHROMIUM),yes)
	@echo 'No Chromium found, so the tests of the documentation page in a browser do not run; install chromium to have them.'
endif
ifneq ($(HAVE_WRK),yes)
	@echo 'No wrk found, so the tests of the load of `make bench` do not run; install wrk to have them.'
endif
	$(RACE) -tags '$(shell echo $(TAGS) | tr ' ' ,)' -timeout 20m ./...
	go test -count=1 ./internal/proof/bench
ifeq ($(HAVE_CC),yes)
	go test -run 'UnderLoad|EveryRuleCanFail|ExpandsTooMuch' ./internal/pets/store/sqlite/upkeep ./internal/check ./internal/pets/files
endif

test-times: ## all tests once more, and the twenty that take longest
	@mkdir -p .bin && { $(RACE) -count=1 -json -tags '$(shell echo $(TAGS) | tr ' ' ,)' -timeout 20m ./... >.bin/test.json || echo 'Some tests fail; run make test to see them.'; }
	@go run $(GOTESTSUM) tool slowest --jsonfile .bin/test.json --threshold 1s --num 20

generate: ## write gen/ from openapi.yaml, and what the edge is tested with
	go generate ./gen $(ALSO_GENERATED:%=./%)

docs-ui: ## take /docs' user interface from the npm package that internal/edge/docs/ui pins
	@command -v npm >/dev/null || { echo 'docs-ui needs Node.js and npm; install them (Debian: apt install nodejs npm) and run make docs-ui again.' >&2; exit 1; }
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && cd internal/edge/docs/ui && \
	cp package.json package-lock.json .npmrc terms.mjs "$$tmp" && $(NPM_CI) --prefix "$$tmp" && \
	gzip -9nc "$$tmp/node_modules/@scalar/api-reference/dist/browser/standalone.js" > scalar.js.gz && \
	gzip -9nc "$$tmp/node_modules/axe-core/axe.min.js" > ../testdata/axe.js.gz && \
	(cd "$$tmp" && node terms.mjs) > LICENSES.txt

docs-samples: ## write the samples of /docs from the clients' quick starts and stories
	UPDATE=1 go test -count=1 ./internal/pets/web -run TheSamplesAreTheTestedOnes

docs-picture: build ## take the picture of /docs for the README (needs Chromium and ImageMagick)
	@tmp=$$(mktemp -d); PETSTORE_API_KEYS=a-key-for-the-picture $(BIN) serve --store memory: --addr 127.0.0.1:8080 2>/dev/null & server=$$!; trap 'kill $$server; rm -rf "$$tmp"' EXIT; \
	until curl -sf -o /dev/null http://127.0.0.1:8080/livez; do kill -0 $$server || exit 1; sleep 0.1; done; \
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,800 --timeout=20000 \
		--user-data-dir="$$tmp/profile" --screenshot="$$tmp/docs.png" 'http://127.0.0.1:8080/docs' 2>/dev/null && \
	convert "$$tmp/docs.png" -strip -colors 64 -define png:compression-level=9 PNG8:internal/edge/docs/docs.png

steps: ## name the next step of a change that begins in openapi.yaml
	@go run ./internal/proof/steps

# What `make generate` writes beside gen/: the code of the documents that test the edge.
ALSO_GENERATED := internal/edge/constructs internal/edge/example

drift: ## fail if openapi.yaml and gen/ disagree
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	mkdir -p "$$tmp"/internal/edge && cp -R openapi.yaml tools.go go.mod go.sum gen "$$tmp" && cp -R $(ALSO_GENERATED) "$$tmp"/internal/edge && \
	rm -rf "$$tmp"/gen/api && mkdir "$$tmp"/gen/api && touch "$$tmp"/gen/api/openapi.yaml && \
	rm -f "$$tmp"/gen/client/*.gen.go "$$tmp"/internal/edge/*/api/*.gen.go && \
	(cd "$$tmp" && go generate ./gen $(ALSO_GENERATED:%=./%)) && \
	if for dir in gen $(ALSO_GENERATED); do diff -ru $$dir "$$tmp/$$dir" || exit 1; done; then echo 'gen/ is what openapi.yaml says'; \
	else echo 'gen/ is not what openapi.yaml says (- is here, + is generated): run make generate and commit gen/' >&2; exit 1; fi

sdk: ## make the clients for Go, TypeScript, Python and Java and have each tell its story (ONLY=java: one)
	@$(MAKE) -s -k -C internal/proof/sdk $(SDKS:%=needs-%)
	@$(MAKE) -s -C internal/proof/sdk $(SDKS)
	@echo 'Each client is used as the README says, and tells its story to a server'
	@go test -count=1 -tags thirdparty -timeout 20m -v ./internal/proof/sdk -run "Test.*/^($$(echo $(SDKS) | tr ' ' '|'))$$"
	@go run ./internal/proof/sdk/stories

lint: ## vet, staticcheck, gofumpt, deadcode
	go vet ./...
	go vet -tags $(ALL_TAGS) ./...
	GOOS=windows CGO_ENABLED=0 go vet ./...
	go run $(STATICCHECK) -tags $(ALL_TAGS) ./...
	@out=$$(go run $(GOFUMPT) -l $$(git ls-files --cached --others --exclude-standard '*.go' ':!*.gen.go')) && \
	if [ -n "$$out" ]; then echo "not formatted; run: go run $(GOFUMPT) -w"; echo "$$out"; exit 1; fi
	@out=$$(go run $(DEADCODE) -tags $(ALL_TAGS) -test ./...) && \
	if [ -n "$$out" ]; then echo 'reached by nothing; remove it:'; echo "$$out"; exit 1; fi

# The rules that gosec does not apply, each with its reason.
#   G101: names of secrets and examples of addresses; no secret is in the code.
#   G115: conversions that keep the bits on purpose, or whose range the line bounds.
#   G304: files that the operator names on the command line are read as asked.
# Code that runs on no server is left out: checks, measurements, releases, tests.
GOSEC_RULES := -exclude=G101,G115,G304
GOSEC_DIRS  := -exclude-dir=internal/proof -exclude-dir=internal/check -exclude-dir=internal/pets/store/storetest -exclude-dir=internal/pets/store/postgres/pgtest

vulnerabilities: ## govulncheck on the program, gosec on its code; needs a network, takes minutes
	@go run $(GOVULNCHECK) ./cmd/petstore || { echo 'govulncheck found something, or could not reach its database (see above).' >&2; exit 1; }
	@go run $(GOSEC) -quiet -exclude-generated $(GOSEC_RULES) $(GOSEC_DIRS) ./...

need-node:
	@command -v node >/dev/null && command -v npm >/dev/null || { echo 'The checks of openapi.yaml need Node.js and npm; install them (Debian: apt install nodejs npm) and run make again.' >&2; exit 1; }
	@printf '%s\n' $(NODE) "$$(node -p process.versions.node)" | sort -CV || { echo "The checks of openapi.yaml need Node.js $(NODE) or later, and this is $$(node -v); install a newer one and run make again." >&2; exit 1; }

$(LINTERS)/installed: internal/proof/contract/linters/package.json internal/proof/contract/linters/package-lock.json | need-node
	@mkdir -p $(@D) && cp $^ $(@D) && $(NPM_CI) --prefix $(@D) && touch $@

lint-spec: need-node $(LINTERS)/installed ## every rule of Spectral and Redocly on openapi.yaml
	@for lint in '$(SPECTRAL)' '$(REDOCLY)'; do \
		out=$$(eval "$$lint openapi.yaml" 2>&1) || { echo "$$out"; echo 'openapi.yaml: mend what is listed above' >&2; exit 1; }; \
		eval "$$lint internal/proof/contract/linters/sloppy.yaml" 2>&1 | grep -q operation-operationId || { echo "$$lint: accepts sloppy.yaml, so its rules are not in force" >&2; exit 1; }; \
	done; \
	$(SPECTRAL) internal/proof/contract/linters/sloppy.yaml | grep -q pattern-compiles || { echo 'Spectral: accepts the pattern of sloppy.yaml, so no pattern is compiled' >&2; exit 1; }; \
	echo 'Spectral and Redocly find nothing to mend in openapi.yaml'

$(OASDIFF):
	@GOBIN='$(CURDIR)/$(@D)' go install github.com/oasdiff/oasdiff@$(patsubst .bin/oasdiff-%/,%,$(dir $@))

breaking: $(OASDIFF) ## fail if openapi.yaml breaks clients of the specification, or of BASE (the last release)
	OASDIFF='$(CURDIR)/$(OASDIFF)' go test -tags thirdparty ./internal/proof/contract/breaking
	@go run ./internal/proof/contract/breaking $(OASDIFF) $(BASE)

need-python:
	@python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo 'make conformance needs Python 3.11 or later with venv; install it (Debian: apt install python3 python3-venv) and run make again.' >&2; exit 1; }

$(JUDGES)/prism: internal/proof/conformance/package.json internal/proof/conformance/package-lock.json | need-node
	@mkdir -p $(@D) && cp $^ $(@D) && $(NPM_CI) --prefix $(@D) && touch $@

$(JUDGES)/schemathesis: internal/proof/conformance/requirements.txt | need-python
	@python3 -m venv --clear $(@D)/venv && $(@D)/venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $< && touch $@

conformance: need-node need-python build $(JUDGES)/prism $(JUDGES)/schemathesis ## Schemathesis and Prism judge the running service, with a random SEED
	@SEED=$(SEED) go test -count=1 -v -parallel 2 -timeout 20m -tags thirdparty -run 'Schemathesis|Prism' ./internal/proof/conformance

third-party: need-node need-python build ## a dozen other generators and judges try openapi.yaml: minutes, the first time half an hour
	@go test -count=1 -v -timeout 90m -tags thirdparty -run ThirdParty ./internal/proof/conformance

check: steps drift lint lint-spec breaking conformance test sdk deploy-check ## all that CI checks

need-wrk:
	@command -v wrk >/dev/null || { echo 'The load of the measurements needs wrk; install it (Debian: apt install wrk) and run make again.' >&2; exit 1; }

bench: need-wrk build ## measure beside peers, in process and over loopback (needs wrk)
	go test -run '^$$' -bench . ./internal/proof/bench
	@go build -o .bin/loopback ./internal/proof/bench/loopback
	@$(ON_LOAD_CPU) .bin/loopback -out internal/proof/bench/measured/loopback.json

bench-scale: need-wrk build ## measure ten million pets beside ten thousand (needs wrk and 1 GiB of disk)
	@go build -o .bin/scale ./internal/proof/bench/scale
	@$(ON_LOAD_CPU) .bin/scale -out internal/proof/bench/measured/scale.json

bench-fsync: need-wrk build ## measure shared commits on a slow disk (needs wrk and strace)
	@go build -o .bin/fsync ./internal/proof/bench/fsync
	@$(ON_LOAD_CPU) .bin/fsync -out internal/proof/bench/measured/fsync.json

bench-postgres: need-wrk build ## measure the store and the service beside pgbench, on a throwaway server (needs wrk)
	@go build -o .bin/pgbench ./internal/proof/bench/pgbench
	@.bin/pgbench -out internal/proof/bench/measured/postgres.json

bench-reads: need-wrk build ## measure lists that standbys serve, on throwaway servers (needs wrk, Linux and root)
	@go build -o .bin/standbys ./internal/proof/bench/standbys
	@$(ON_LOAD_CPU) .bin/standbys -out internal/proof/bench/measured/standbys.json

bench-plan: need-wrk build ## measure what deploy/how-far.md is written from, and hold its prediction against it (needs wrk, Linux and root)
	@go build -o .bin/plan ./internal/proof/bench/plan
	@$(ON_LOAD_CPU) .bin/plan -out internal/proof/bench/measured/plan.json

bench-import: build ## import a million real animals into SQLite, export them and restore them
	@go run ./internal/proof/bench/importing -out internal/proof/bench/measured/import.json

bench-attack: build ## measure the harm of each known attack
	@go build -o .bin/attack ./internal/proof/bench/attack
	@$(ON_LOAD_CPU) .bin/attack -out internal/proof/bench/measured/attack.json

bench-overload: need-wrk build ## measure what is left of the capacity when three times as much arrives (needs wrk)
	@go build -o .bin/overload ./internal/proof/bench/overload
	@$(ON_LOAD_CPU) .bin/overload -out internal/proof/bench/measured/overload.json

bench-report: ## write the tables and charts of the documents from the measured files
	go run ./internal/proof/bench/report

torture: ## kill leaders of a Patroni cluster, primaries and replicas under load, for ROUNDS (3)
	ROUNDS=$(ROUNDS) go test -count=1 -tags postgres,torture -run Torture -v -timeout 30m ./cmd/petstore ./internal/pets/store/postgres

soak: build ## everything at once, for SOAK (1h): load, kills, full disks, failovers, backups
	SOAK=$(SOAK) SEED=$(SEED) go test -count=1 -tags postgres,torture -timeout 0 -v ./internal/proof/soak

# Each is a package and its target.
FUZZ_TARGETS := edge/server:FuzzConnection proof/served:FuzzHTTP proof/served:FuzzQuery proof/served:FuzzBody proof/served:FuzzAuthorization pets/files:FuzzRows

fuzz: ## fuzz connections, requests, queries, bodies, keys and files for FUZZTIME (30s) each
	@for target in $(FUZZ_TARGETS); do \
		go test -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME) "./internal/$${target%:*}" || exit 1; \
	done
