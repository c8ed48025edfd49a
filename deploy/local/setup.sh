#!/usr/bin/env bash
# Install what the checkout needs and does not have yet. What is there is left alone: run again, it does nothing.
# `setup.sh test` adds a browser, which only the tests need.
set -eu

cd "$(dirname "$0")/../.."
exec 9<deploy/local/setup.sh
flock 9 # two of them at once would spoil each other's folders

OLDEST_PYTHON="3.11"
OLDEST_NODE=18
POLICY=/usr/sbin/policy-rc.d

say() { echo "setup: $*"; }
die() {
  echo "setup: $*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if has "$name" && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
      echo "$name"
      return
    fi
  done
}

missing_packages() {
  has redis-server || echo redis-server
  has node || echo nodejs
  has npm || echo npm
  "$python" -c 'import ensurepip' 2>/dev/null || echo "$python-venv"
  [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
}

become_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

install_packages() {
  local packages="$*"
  if ! has apt-get || { [ "$(id -u)" != 0 ] && ! { has sudo && sudo -n true 2>/dev/null; }; }; then
    die "please install $packages (Debian: apt-get install $packages), then run this again"
  fi
  say "installing $packages"
  become_root apt-get -qq -o DPkg::Lock::Timeout=300 update
  keep_services_stopped
  # shellcheck disable=SC2086 # several words
  become_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends $packages >/dev/null
  allow_services
  case " $packages " in *" redis-server "*) forget_redis_service ;; esac
}

# Debian starts a service as soon as it is installed. The stack runs a Redis of its own: the program is enough.
keep_services_stopped() {
  [ ! -e "$POLICY" ] || return 0
  trap allow_services EXIT
  printf '#!/bin/sh\n# setup.sh of ragcore, for the time of one apt-get\nexit 101\n' | become_root tee "$POLICY" >/dev/null
  become_root chmod 755 "$POLICY"
  policy_is_ours=yes
}

allow_services() {
  [ "${policy_is_ours:-no}" = yes ] || return 0
  become_root rm -f "$POLICY"
  policy_is_ours=no
}

# Nor at the next boot; and not now, where a policy of the machine's own has let it start.
forget_redis_service() {
  has systemctl || return 0
  become_root systemctl disable --now redis-server >/dev/null 2>&1 || true
}

# The stamp names the place too: a .venv does not work after it was moved.
python_stamp() { echo "$PWD $("$python" --version) $(sha256sum <pyproject.toml)"; }

install_python_packages() {
  local stamp
  stamp="$(python_stamp)"
  [ "$(cat .venv/.installed 2>/dev/null)" != "$stamp" ] || return 0
  say "installing Python packages into .venv"
  rm -f .venv/.installed
  if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    "$python" -m venv --clear .venv
  fi
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
  echo "$stamp" >.venv/.installed
}

install_node_packages() {
  local folder="$1" stamp
  [ -e "$folder/package-lock.json" ] || return 0
  stamp="$(sha256sum <"$folder/package-lock.json")"
  [ "$(cat "$folder/node_modules/.installed" 2>/dev/null)" != "$stamp" ] || return 0
  say "installing Node packages into $folder/node_modules"
  (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error >/dev/null)
  echo "$stamp" >"$folder/node_modules/.installed"
}

browser_starts() { .venv/bin/python -m tests.support.browser 2>/dev/null; }

# The fonts are for the screenshots.
install_browser() {
  ! browser_starts || return 0
  install_packages chromium fonts-noto-core || true
  browser_starts ||
    die "please install a Chromium that starts, Debian's or Google Chrome (Ubuntu's is a snap), then run this again"
}

python="$(find_python)"
[ -n "$python" ] || die "Python $OLDEST_PYTHON or newer is needed; python3 is $(python3 --version 2>&1 || true)"

packages="$(missing_packages | xargs)"
# shellcheck disable=SC2086 # several words
[ -z "$packages" ] || install_packages $packages

node_version="$(node --version)"
node_major="${node_version#v}"
[ "${node_major%%.*}" -ge "$OLDEST_NODE" ] || die "Node $OLDEST_NODE or newer is needed; node is $node_version"

install_python_packages
install_node_packages deploy/local/database
install_node_packages tests/clients
[ "${1:-}" != test ] || install_browser
