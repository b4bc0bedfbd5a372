#!/bin/sh
# Installs agents into .clients: those of npm, and those of PyPI in an environment of their own.
# Usage: PYTHON=… UV=… AT=pinned|latest install_clients.sh NODE NPM_PACKAGES PYPI_PACKAGES
# A package that cannot be installed is listed in .clients/missing, so that one of them does not hide the others.
set -eu
cd .clients
node=$1 npm=$2 pypi=$3
if [ "$AT" = latest ]; then
  npm=$(echo "$npm" | sed -E 's/@[0-9][^ ]*/@latest/g')
  pypi=$(echo "$pypi" | sed -E 's/==[^ ]*//g')
fi
: > missing
install() { npm install --no-audit --no-fund --loglevel=error "$@"; }
# shellcheck disable=SC2086 - lists of packages
install "$node" $npm || for package in "$node" $npm; do install "$package" || echo "$package" >> missing; done
"$UV" venv --quiet --clear --python "$PYTHON" venv
# shellcheck disable=SC2086
"$UV" pip install --quiet --python venv/bin/python $pypi || echo "$pypi" >> missing
for command in mini litellm; do ln -sf "../venv/bin/$command" "bin/$command"; done
ln -sf ../node_modules/@aaif/goose-binary-linux-x64/bin/goose bin/goose
