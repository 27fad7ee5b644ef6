# Every target does its own set-up; see docs/harness.md.
.DEFAULT_GOAL := help
SHELL := /bin/bash
# The pinned Node.js comes with `npm ci`, and goes before the machine's own.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
NAME ?= earshot
READY := scripts/setup/ready.sh

.PHONY: help demo demo-connection demo-containers test test-quick test-net cluster cluster-stop image dist check

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r target text; do printf '  make %-16s %s\n' "$$target" "$$text"; done

demo: ## run demo-connection, then on a two-node Kubernetes a Redis Cluster whose pods know their outside addresses, and sites
	@$(READY) connection && node scripts/demo-connection.ts
	@printf '\nThat was the connection half. Now a Kubernetes, the exposure half in it, and then both together; the first time, Kubernetes is built from source.\n'
	@$(READY) demo && exec node scripts/demo.ts

demo-connection: ## link two sites on this machine, and reach a web server of one site from the other; half a minute, no root
	@$(READY) connection && exec node scripts/demo-connection.ts

demo-containers: ## run a site in containers of Podman, which reach a server of another site by name; skipped without Podman
	@$(READY) connection && exec node scripts/demo-containers.ts

test: ## run checks, unit tests, tests of connections and cluster tests; the last line counts them
	@$(READY) node && exec node test/run.ts

test-quick: ## run checks, unit tests, and some tests of connections and of a cluster, in about five minutes
	@$(READY) node && exec node test/run.ts quick

test-net: ## run the tests of connections between network namespaces: all, or FILES=test/net/harness.test.ts; YES=1 installs packages without a question
	@$(READY) net && trap 'node test/net/harness/bin/sweep.ts' EXIT && trap 'exit 130' INT TERM HUP \
	  && node --test --test-concurrency=1 --test-reporter=spec $(if $(FILES),$(FILES),'test/net/*.test.ts')

cluster: ## start a two-node Kubernetes with Earshot, and leave it running; the last line is KUBECONFIG=PATH
	@$(READY) cluster && exec node test/harness/bin/cluster.ts --name $(NAME)

cluster-stop: ## stop that cluster and remove all its files
	@$(READY) node && exec node test/harness/bin/cluster-stop.ts --name $(NAME)

image: ## build dist/earshot.tar, an OCI archive, without a container engine; FORMAT=docker-archive for Docker before 25
	@$(READY) node && exec node scripts/image.ts $(if $(FORMAT),--format $(FORMAT))

dist: ## build dist/release: packages for machines, image, chart, manifests and their sums; KEY=FILE signs them, REPOSITORY=NAME names the image in the chart
	@$(READY) dist && exec node scripts/dist.ts $(if $(KEY),--key $(KEY)) $(if $(REPOSITORY),--repository $(REPOSITORY))

check: ## check types, lint and format
	@$(READY) node && exec npm run --silent check
