#!/usr/bin/env bash
# Fuzzes targets of packages below core/, side by side, each for a time. An input that
# fails a target is printed and stays in the package's testdata, to be committed with
# what mends it.
#
#   build/fuzz.sh TIME PACKAGE:TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."

time=$1
shift
workers=$(($(getconf _NPROCESSORS_ONLN) / $#))
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

fuzz() { # PACKAGE TARGET
    local log=$logs/$1.$2 input
    if go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -parallel "$((workers > 0 ? workers : 1))" "./core/$1" >"$log" 2>&1; then
        echo "fuzzed $1 $2 for $time: $(grep -o 'execs: [0-9]*' "$log" | tail -n 1)"
        return
    fi
    # At the end of its time Go's fuzzer may take its own deadline for a failure
    # (golang.org/issue/48591). It names an input then only if there is one.
    if ! grep -q 'Failing input written to' "$log" && grep -q 'context deadline exceeded' "$log"; then
        echo "fuzzed $1 $2 for $time: $(grep -o 'execs: [0-9]*' "$log" | tail -n 1), ended by Go's own deadline"
        return
    fi
    echo "FAIL: core/$1 $2"
    cat "$log"
    input=$(sed -n 's/.*Failing input written to //p' "$log" | head -n 1)
    if [[ -n $input ]]; then
        echo "core/$1/$input:"
        cat "core/$1/$input"
    fi
    return 1
}

children=()
for target in "$@"; do
    fuzz "${target%%:*}" "${target#*:}" &
    children+=($!)
done
failed=0
for child in "${children[@]}"; do
    wait "$child" || failed=1
done
exit $failed
