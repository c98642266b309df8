#!/usr/bin/env bash
# Makes targets one after the other, up to the first that fails, and tells at the end
# what took how long, with the Go packages whose tests took longest.
#
#   build/steps.sh MAKE TARGET... NAME=VALUE TARGET...
#
# A variable is set for the targets after it.
set -euo pipefail

make=$1
shift
log=$(mktemp)
table=()

# 75 -> 1m15s
spell() { printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); }

tell() {
    local status=$?
    set +e
    echo
    echo 'What took how long:'
    printf '%8s  %s\n' "${table[@]}" "$(spell $SECONDS)" 'in all'
    echo
    echo 'The Go packages whose tests took longest, side by side with others:'
    awk '$1 == "ok" || $1 == "FAIL" { if ($3 + 0 >= 5) printf "%7.0fs  %s\n", $3, $2 }' "$log" | sort -rn | head -15
    rm -f "$log"
    exit $status
}
trap tell EXIT

for step in "$@"; do
    if [[ $step == *=* ]]; then
        export "${step?}"
        continue
    fi
    start=$SECONDS
    status=0
    "$make" "$step" 2>&1 | tee -a "$log" || status=$?
    table+=("$(spell $((SECONDS - start)))" "$step$([[ $status == 0 ]] || echo ', which failed')")
    [[ $status == 0 ]] || exit $status
done
