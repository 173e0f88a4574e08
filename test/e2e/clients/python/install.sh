#!/usr/bin/env bash
# Installs the Python clients of the suite in a virtual environment outside the tree. Where they are there already it does nothing.
set -euo pipefail
cd "$(dirname "$0")"

folder="${XDG_CACHE_HOME:-$HOME/.cache}/baton/python-clients"
if cmp -s requirements.txt "$folder/requirements.txt" && "$folder/bin/python" -c ''; then exit 0; fi
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
# Last: whoever looks for it finds all of them.
cp requirements.txt "$folder/requirements.txt"
