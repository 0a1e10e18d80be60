# The two commands of README.md are `make up` and `make test`; each sets up what it needs first.
.DEFAULT_GOAL := help
.PHONY: help up test nightly bench node test-setup test-tools clean

NODE_MIN := 20.19
# Most of what a server allocates lives for one request. Twice the usual room for it (V8's is 16 MB) lets most of it die
# before it is looked at; elsewhere NODE_OPTIONS says the same (docs/scheduler.md).
SERVER_FLAGS := --max-semi-space-size=32
# What the tests need besides npm packages: the command, and Debian's package it comes from.
TEST_TOOLS := etcd:etcd-server strace:strace openssl:openssl flock:util-linux unshare:util-linux kubectl:kubernetes-client dig:bind9-dnsutils \
  podman:podman runc:runc busybox:busybox-static ip:iproute2 python3:python3
# Debian's own kubectl, whatever other one is on PATH: the API is tried with both.
OLD_KUBECTL := .tools/kubernetes-client/usr/bin/kubectl
# Other languages' clients, whose informers are tried with the API. Go is used where it is there: 1.23 or later.
PYTHON_CLIENT := .tools/python/installed
GO_CLIENT := $(if $(shell go version 2>/dev/null | grep -E 'go1\.(2[3-9]|[3-9][0-9])'),.tools/client-go-informers)

help:
	@echo 'make up       set up, then start Berth'
	@echo 'make test     set up, then run every check: format, lint, types, tests'
	@echo 'make nightly  set up, then run fresh seeds of every scenario and every planted defect; FROM=SEED repeats a run'
	@echo 'make bench    set up, then measure; BENCH="lmdb etcd …" for some of it'
	@echo 'make clean    remove what the build made'

up: node dist/.built
	@node $(SERVER_FLAGS) dist/src/cli/berth.js up

test: node test-setup $(OLD_KUBECTL) dist/.built
	@node node_modules/oxfmt/bin/oxfmt --check
	@node node_modules/oxlint/bin/oxlint --deny-warnings
# First that one seed gives one history: nothing else the simulator says would mean anything.
	@node testing/test.mjs one-history
	@TEST_RETRIES=1 node testing/test.mjs

nightly: node dist/.built
	@node dist/testing/nightly.js

bench: node test-tools dist/.built
	@node $(SERVER_FLAGS) --expose-gc dist/bench/run.js $(BENCH)

clean:
	rm -rf dist node_modules

# Asked every time: the Node that compiled yesterday may not be the one that runs today.
node:
	@command -v node >/dev/null || { echo 'berth needs Node $(NODE_MIN) or later; no node was found on PATH' >&2; exit 1; }
	@node -e "const [a,b]=process.versions.node.split('.').map(Number),[x,y]='$(NODE_MIN)'.split('.').map(Number); \
	  if (a<x||(a===x&&b<y)) { console.error('berth needs Node $(NODE_MIN) or later; this is '+process.version); process.exit(1) }"

node_modules/.package-lock.json: package.json package-lock.json .npmrc | node
	@command -v npm >/dev/null || { echo "berth needs npm (on Debian it is a package of its own beside nodejs)" >&2; exit 1; }
	@echo 'installing npm packages'
# Not `npm ci`: it insists on the optional packages of every other platform, which some mirrors do not carry.
	@npm install --no-save --loglevel=error
	@touch $@

dist/.built: node_modules/.package-lock.json tsconfig.json $(shell find src bench testing -name '*.ts' -o -name '*.mjs')
	@echo 'compiling'
	@node testing/build.mjs
	@touch $@

$(OLD_KUBECTL):
	@echo "fetching Debian's kubernetes-client into .tools (it is not installed)"
	@mkdir -p .tools && cd .tools && apt-get download -qq kubernetes-client || { apt-get update -qq && apt-get download -qq kubernetes-client; }
	@cd .tools && dpkg-deb -x kubernetes-client_*.deb kubernetes-client && rm -f kubernetes-client_*.deb

test-setup: test-tools $(PYTHON_CLIENT) $(GO_CLIENT)

$(PYTHON_CLIENT): testing/client-python/requirements.txt | test-tools
	@echo "installing the Python client into .tools/python"
	@rm -rf .tools/python && python3 -m venv .tools/python
	@.tools/python/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.tools/client-go-informers: $(wildcard testing/client-go/*)
	@echo "building the informers of client-go, which takes minutes the first time"
	@cd testing/client-go && go build -o ../../$@ .
	@touch $@

# Installs only what is missing, and says so. Debian's python3 makes virtual environments with python3-venv alone.
test-tools:
	@missing=; python3 -c 'import ensurepip, venv' 2>/dev/null || missing=" python3-venv"; for tool in $(TEST_TOOLS); do \
	  command -v $${tool%%:*} >/dev/null || case "$$missing" in *" $${tool##*:}"*) ;; *) missing="$$missing $${tool##*:}";; esac; done; \
	[ -z "$$missing" ] || { \
	  command -v apt-get >/dev/null || { echo "the tests need$$missing (Debian's names); install them and try again" >&2; exit 1; }; \
	  sudo=; [ "$$(id -u)" = 0 ] || { sudo=sudo; command -v sudo >/dev/null || { \
	    echo "the tests need$$missing: install them as root, or install sudo" >&2; exit 1; }; }; \
	  echo "installing Debian packages:$$missing (etcd-server also sets up a service, which the tests do not use)"; \
	  $$sudo apt-get update -qq && \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }
