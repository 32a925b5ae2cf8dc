#!/bin/sh
# Find Chromium for the browser tests, else install it: Debian's package as root, else Playwright's own.
set -eu

python=${VENV:-.venv}/bin/python

for name in ${CHROMIUM:-} chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

if "$python" - <<'PYTHON'
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    sys.exit(not Path(playwright.chromium.executable_path).is_file())
PYTHON
then
    exit 0
fi

is_root() { [ "$(id -u)" -eq 0 ]; }
has_apt() { command -v apt-get >/dev/null 2>&1; }
is_debian() { grep -q '^ID=debian' /etc/os-release 2>/dev/null; } # Ubuntu's chromium is a snap

echo "Installing Chromium for the browser tests."
if is_root && has_apt && is_debian; then
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; then
        # Faster, where the release of Debian has it.
        apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null 2>&1 || true
        exit 0
    fi
fi

with_deps=
if is_root && has_apt; then
    with_deps=--with-deps
fi
# shellcheck disable=SC2086  # empty when there is nothing to add
if "$python" -m playwright install $with_deps chromium; then
    exit 0
fi

echo "Chromium could not be installed: install it yourself, or name one in the variable CHROMIUM." >&2
if [ -n "${CI:-}" ]; then
    exit 1
fi
echo "The browser tests will be skipped." >&2
