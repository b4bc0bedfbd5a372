# Everything sets itself up in .venv on a machine that has Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python
TRIALS := $(patsubst requirements/adapters-%.in,%,$(wildcard requirements/adapters-*.in))
export UV_LINK_MODE = copy
# Hundreds of processes are started by tests; without compiled files each of them would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
# The versions whose hooks, logs and requests were looked at; another one is a change to look at again. With
# `CLIENTS_AT=latest` the newest versions are installed instead.
CLIENTS_AT ?= pinned
CLIENTS := @anthropic-ai/claude-code@2.1.327 @openai/codex@0.169.0 opencode-ai@1.18.33 @google/gemini-cli@0.61.0 \
  @qwen-code/qwen-code@0.24.4 @earendil-works/pi-coding-agent@0.87.1 @continuedev/cli@1.5.47 cline@3.0.65 \
  @github/copilot@1.0.102 @moonshot-ai/kimi-code@2.1.0 @aaif/goose-binary-linux-x64@1.52.0 \
  ai@7.0.173 @ai-sdk/openai-compatible@3.0.92 @ai-sdk/amazon-bedrock@5.0.101
PYTHON_CLIENTS := mini-swe-agent==2.4.6 litellm==1.106.2 mcp
OPENHANDS := openhands==1.16.0
# Several clients need a newer Node.js than many machines have.
NODE := node@22.23.3
SERVERS := mcp-server-git==2026.10.19 mcp-server-time==2026.10.19
AXE := axe-core@4.14.0
NODE_SERVERS := @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31 \
  @playwright/mcp@0.0.83

.PHONY: docs site serve-site run demo replay test coverage mutants mutants-sample quick check bench bench-check torture browser browser-ready adapters strangers clients clients-openhands servers production fix requirements pin-images vendor repository build release-check clean

run: .venv/run  ## the proxy and the page over the record, with a made-up session to look at
	@$(BIN)/keepwhole serve --sample

demo: .venv/run  ## see what it does, in under ten seconds
	@$(BIN)/keepwhole demo

replay: .venv/run  ## what policies would have done to made-up sessions
	@$(BIN)/keepwhole replay --sample

# Twice as many processes as there are cores: part of the time tests wait, for servers and other processes.
test: .venv/dev  ## the default test run
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not torture"

coverage: .venv/dev  ## the share of lines that tests run, where a document asks for a floor
	$(BIN)/python -m tests.coverage_floors

# The last seed is the commit, so that every commit is tried with lines of its own.
mutants: .venv/dev  ## break 200 randomly drawn lines, for each of five seeds, and see whether tests notice
	$(BIN)/python -m tests.mutants --map
	for seed in 1 2 3 4 $$(git rev-parse HEAD); do $(BIN)/python -m tests.mutants --seed $$seed || exit 1; done

# Test files that are chosen by their names miss what others catch, some lines cannot be noticed, and eight are few: with
# three of four caught on average, fewer than three of eight happen once in two hundred runs. Then tests do not run, or
# there are none; how good they are says `make mutants`.
mutants-sample: .venv/dev  ## break eight lines and run the test files with the closest names
	$(BIN)/python -m tests.mutants --seed $$(git rev-parse HEAD) --count 8 --by-name --floor 0.375

# Importing the providers' SDKs, which one file there needs, would take as long as all the rest.
quick: .venv/dev  ## the packages that do no I/O, without property tests: a first answer in under ten seconds
	$(BIN)/python -m pytest -m "not torture and not hypothesis" --ignore=tests/wire/test_sdk_types.py \
	  tests/canonical tests/wire tests/policies

check: .venv/dev  ## format, lint, types, import directions, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --warnings
	$(BIN)/lint-imports
	$(BIN)/codespell -D - -D docs/words.txt *.md docs src

fix: .venv/dev  ## format, and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/dev  ## rewrite the generated pages
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.trace

site: .venvs/site/made  ## the documentation as pages with search, in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 .venvs/site/bin/mkdocs build --quiet --strict
	@echo "Open site/index.html."

serve-site: .venvs/site/made  ## the same while you write
	NO_MKDOCS_2_WARNING=1 .venvs/site/bin/mkdocs serve

bench: .venv/dev  ## the figures of docs/reference/figures.md
	$(BIN)/python -m bench

# All suites take half an hour; `make bench-check SUITES="view keep"` runs two.
bench-check: .venv/dev  ## today's ratios against the committed ones; fails where one is beyond its spread
	$(BIN)/python -m bench $(SUITES) --check

torture: .venv/dev  ## long fault injection: kills, power cuts, full disks, damaged files, hostile input
	$(BIN)/python -m pytest -m torture --durations=10
	EXAMPLES=1000 $(BIN)/python -m pytest -n 4 -m "not torture" tests/promises tests/canonical tests/truncation tests/policies tests/wire \
	  tests/logs tests/apps/mcp

browser: browser-ready  ## the pages, in headless Chromium
	$(BIN)/python -m pytest -m browser

browser-ready: .venv/browser .browser/axe.min.js  ## what they need; without it their tests are skipped

adapters: $(TRIALS:%=.venvs/%/made)  ## every adapter with its framework, at the lowest and the current version
	@for name in $(TRIALS); do echo "$$name"; \
	  .venvs/$$name/bin/python -m pytest -m adapters --timeout=60 tests/integrations tests/test_docs.py || exit 1; done

strangers: .venv/dev  ## README and goal pages, followed in new minimal systems with the oldest and the newest Python; needs root
	command -v debootstrap >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends debootstrap debian-archive-keyring; } || \
	  { echo "Install debootstrap, then run \`make strangers\` again."; exit 1; }
	$(BIN)/python -m tests.strangers.minimal_root

servers: .venv/dev .servers/installed  ## the MCP gateway before other people's servers, from PyPI and npm
	MCP_SERVERS_BIN="$(CURDIR)/.servers/bin:$(CURDIR)/.servers/node_modules/.bin" $(BIN)/python -m pytest -m mcp_servers

clients: .venv/dev .clients/$(CLIENTS_AT)  ## real coding agents, offline, against a model on loopback
	PATH="$(CURDIR)/.clients/bin:$(CURDIR)/.clients/node_modules/.bin:$$PATH" $(BIN)/python -m pytest -m clients
	@test ! -s .clients/missing || { echo "Not installed:"; cat .clients/missing; exit 1; }

clients-openhands: .venv/dev .clients/openhands/installed  ## OpenHands, which needs Python 3.12 and half a gigabyte
	PATH="$(CURDIR)/.clients/bin:$$PATH" $(BIN)/python -m pytest -m clients -k openhands tests/clients

production: .venv/dev  ## a record behind PgBouncer and TLS with real servers, alerts, the runbook, two releases over one record
	command -v pgbouncer >/dev/null && command -v promtool >/dev/null && ls /usr/lib/postgresql/*/bin/postgres >/dev/null || \
	  { apt-get update && apt-get install --yes --no-install-recommends pgbouncer postgresql prometheus; } || \
	  { echo "Install PgBouncer, PostgreSQL and Prometheus, then run \`make production\` again."; exit 1; }
	$(BIN)/python -m pytest tests/deploy tests/upgrades

requirements: .venv/uv  ## pin the newest versions, with hashes and without addresses
	for name in uv run server dev browser site; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url requirements/$$name.in -o requirements/$$name.txt; done

pin-images:  ## write the digests that the images of containers have now; needs docker and a registry
	$(PYTHON) requirements/pin_images.py compose.yaml deploy/Dockerfile

.venv/uv: requirements/uv.txt
	@echo "Setting up .venv on first use, about 30 s …"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

.venv/run: .venv/uv requirements/run.txt pyproject.toml
	@$(UV) --require-hashes -r requirements/run.txt
	@$(UV) --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev: .venv/run requirements/dev.txt
	@echo "Adding what the tests and checks need, about a minute …"
	@$(UV) --require-hashes -r requirements/dev.txt
	@touch $@

.venv/browser: .venv/dev requirements/browser.txt
	$(UV) --require-hashes -r requirements/browser.txt
	command -v chromium chromium-browser google-chrome >/dev/null || \
	  { apt-get update && apt-get install --yes --no-install-recommends chromium; } || \
	  { echo "Install Chromium, then run \`make browser\` again."; exit 1; }
	@touch $@

# A checker of accessibility; where npm is not installed, its tests are skipped.
.browser/axe.min.js: Makefile
	@mkdir -p .browser
	@cd .browser && npm pack --silent $(AXE) && tar -xzf axe-core-*.tgz --strip-components=1 package/axe.min.js && touch axe.min.js \
	  || echo "No axe-core: its tests are skipped. Install Node.js with npm to run them."

.venvs/site/made: requirements/site.txt | .venv/uv
	@echo "Setting up .venvs/site for the documentation, about 10 s …"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venvs/site
	@$(BIN)/uv pip install --quiet --python .venvs/site/bin/python --require-hashes -r requirements/site.txt
	@touch $@

.venvs/%/made: requirements/adapters-%.in requirements/trial.in pyproject.toml | .venv/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venvs/$*
	$(BIN)/uv pip install --quiet --python .venvs/$*/bin/python -r $< -r requirements/trial.in -e .
	@touch $@

.servers/installed: Makefile | .venv/uv
	command -v npm >/dev/null || { echo "Install Node.js with npm, then run \`make servers\` again."; exit 1; }
	command -v chromium chromium-browser google-chrome >/dev/null || \
	  { apt-get update && apt-get install --yes --no-install-recommends chromium; } || \
	  { echo "Install Chromium, then run \`make servers\` again."; exit 1; }
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .servers
	$(BIN)/uv pip install --quiet --python .servers/bin/python $(SERVERS)
	echo '{"private": true}' > .servers/package.json
	cd .servers && npm install --no-audit --no-fund $(NODE_SERVERS)
	@touch $@

.clients/pinned .clients/latest: Makefile | .venv/uv
	command -v npm >/dev/null || { echo "Install Node.js with npm, then run \`make clients\` again."; exit 1; }
	command -v tmux >/dev/null || \
	  { apt-get update && apt-get install --yes --no-install-recommends tmux; } || \
	  { echo "Install tmux, in which the clients' own screens run, then run \`make clients\` again."; exit 1; }
	mkdir -p .clients/bin && rm -f .clients/pinned .clients/latest && echo '{"private": true}' > .clients/package.json
	PYTHON="$(CURDIR)/$(BIN)/python" UV="$(CURDIR)/$(BIN)/uv" AT=$(@F) sh requirements/install_clients.sh "$(NODE)" \
	  "$(CLIENTS)" "$(PYTHON_CLIENTS)"
	@touch $@

.clients/openhands/installed: Makefile | .venv/uv
	$(BIN)/uv venv --quiet --clear --python 3.12 .clients/openhands
	$(BIN)/uv pip install --quiet --python .clients/openhands/bin/python $(if $(filter latest,$(CLIENTS_AT)),openhands,$(OPENHANDS))
	mkdir -p .clients/bin && ln -sf ../openhands/bin/openhands .clients/bin/openhands
	@touch $@

vendor: .venv/dev  ## compare the page's copies of Preact and htm with their npm packages; needs npm
	$(BIN)/python -m release.vendor

repository:  ## write the address of the repository, from which all others follow: make repository URL=https://…
	$(PYTHON) -m release.repository "$(URL)"

build: .venv/dev  ## the archives of a release in dist/, built twice and compared, with their digests and contents
	$(BIN)/python -m release.build --into dist

release-check: check test site  ## everything that can be checked of a release without a network
	$(BIN)/python -m release.check

clean:  ## what is left is what is in the repository
	rm -rf .venv .venvs .clients .servers .strangers .browser .mutants .pytest_cache .ruff_cache .hypothesis .import_linter_cache \
	  .coverage dist build site bench/results
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
