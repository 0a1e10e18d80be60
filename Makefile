# The two commands of README.md are `make up` and `make test`; each sets up what it needs first.
.DEFAULT_GOAL := help
.PHONY: help up test bench test-setup lint format clean

NODE_MIN := 20.19
# What the tests need besides npm packages: the command, and Debian's package it comes from.
TEST_TOOLS := etcd:etcd-server strace:strace openssl:openssl flock:util-linux unshare:util-linux

help:
	@echo 'make up      set up, then start Berth'
	@echo 'make test    set up, then run every check: format, lint, types, tests'
	@echo 'make bench   set up, then measure; BENCH="lmdb etcd …" for some of it'
	@echo 'make clean   remove what the build made'

up: dist/.built
	@node dist/src/cli/berth.js version

test: test-setup dist/.built
	@node node_modules/oxfmt/bin/oxfmt --check
	@node node_modules/oxlint/bin/oxlint --deny-warnings
	@node testing/test.mjs

bench: test-setup dist/.built
	@node --expose-gc dist/bench/run.js $(BENCH)

lint: node_modules/.package-lock.json
	@node node_modules/oxlint/bin/oxlint --deny-warnings

format: node_modules/.package-lock.json
	@node node_modules/oxfmt/bin/oxfmt

clean:
	rm -rf dist node_modules

node_modules/.package-lock.json: package.json package-lock.json .npmrc
	@command -v node >/dev/null || { echo 'berth needs Node $(NODE_MIN) or later; no node was found on PATH' >&2; exit 1; }
	@node -e "const [a,b]=process.versions.node.split('.').map(Number),[x,y]='$(NODE_MIN)'.split('.').map(Number); \
	  if (a<x||(a===x&&b<y)) { console.error('berth needs Node $(NODE_MIN) or later; this is '+process.version); process.exit(1) }"
	@echo 'installing npm packages'
# Not `npm ci`: it insists on the optional packages of every other platform, which some mirrors do not carry.
	@npm install --no-save --loglevel=error
	@touch $@

dist/.built: node_modules/.package-lock.json tsconfig.json $(shell find src bench testing -name '*.ts' -o -name '*.mjs')
	@echo 'compiling'
	@node testing/build.mjs
	@touch $@

# Installs only what is missing, and says so.
test-setup:
	@missing=; for tool in $(TEST_TOOLS); do \
	  command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool##*:}"; done; \
	[ -z "$$missing" ] || { \
	  command -v apt-get >/dev/null || { echo "the tests need$$missing (Debian's names); install them and try again" >&2; exit 1; }; \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  echo "installing Debian packages:$$missing"; \
	  $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }
