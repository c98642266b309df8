#!/usr/bin/env bash
# Sees that Debian packages are there: installs those that are missing where it may,
# else says which and fails. Elsewhere than on Debian and its kin it says nothing
# and leaves it to the build to find what it needs.
#
#   build/deps.sh PACKAGE...
set -euo pipefail

command -v dpkg-query >/dev/null || exit 0

# Packages that are wanted for a command count as there if the command is.
declare -A command_of=([gcc]=gcc [g++]=g++ [git]=git [pkg-config]=pkg-config [debootstrap]=debootstrap [cmake]=cmake)

missing=()
for package in "$@"; do
    command=${command_of[$package]:-}
    if [[ -n $command ]] && command -v "$command" >/dev/null; then
        continue
    fi
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
        missing+=("$package")
    fi
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $(id -u) -ne 0 ]]; then
    echo "missing Debian packages; install them with: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    apt-get install -y -q --no-install-recommends "${missing[@]}" >"$log" 2>&1 </dev/null
}
echo "installing ${missing[*]}" >&2
# Package lists may be missing or old: then once more with new ones.
if ! install; then
    if ! { apt-get update -q >"$log" 2>&1 </dev/null && install; }; then
        cat "$log" >&2
        echo "apt-get could not install ${missing[*]}" >&2
        exit 1
    fi
fi
