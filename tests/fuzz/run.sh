#!/bin/sh
# Fuzzes targets, two at a time. usage: run.sh BUILD_DIRECTORY TARGET..
# FUZZ_SECONDS (120) of processor time for each, FUZZ_JOBS (2) at a time. What is found new is kept in
# BUILD_DIRECTORY/new/TARGET, what fails in BUILD_DIRECTORY/failed: mend it, and put the file into
# tests/fuzz/corpus/TARGET. Ends with "N passed, N failed".
build=$1
shift
seconds=${FUZZ_SECONDS:-120}
mkdir -p "$build/failed"

# Sets used to the whole seconds of processor time that what this shell has waited for took. (Not in $(..) or a pipe:
# times would tell of another shell there.)
look() {
    times >"$build/$1.times"
    used=$(awk 'NR == 2 {gsub("s", ""); split($1, u, "m"); split($2, s, "m")
                         printf "%d\n", 60 * (u[1] + s[1]) + u[2] + s[2]}' "$build/$1.times")
}

# Runs a target until it has had its time: libFuzzer itself counts the clock's seconds, of which others have a part.
give_time() {
    look "$1"
    while [ "$used" -lt "$seconds" ]; do
        nice "$build/fuzz_$1" -max_total_time="$((seconds - used + 1))" -timeout=20 -rss_limit_mb=2048 \
            -max_len=4096 -print_final_stats=1 -artifact_prefix="$build/failed/$1-" "$new" "tests/fuzz/corpus/$1" \
            >>"$build/$1.log" 2>&1 || return
        look "$1"
    done
}

# Fuzzes one target; its last line is what came of it.
fuzz() {
    new=$build/new/$1
    mkdir -p "$new"
    : >"$build/$1.log"
    give_time "$1"
    code=$?
    look "$1"
    runs=$(awk -F: '/^stat::number_of_executed_units/ {n += $NF} END {print n + 0}' "$build/$1.log")
    echo "$([ $code -eq 0 ] && echo ok || echo "--- failed") fuzz_$1: $runs executions in $used s of processor time" |
        tee "$build/$1.result"
    [ $code -eq 0 ] || tail -n 40 "$build/$1.log"
}

rm -f "$build"/*.result
running=0
for target in "$@"; do
    fuzz "$target" &
    running=$((running + 1))
    if [ "$running" -eq "${FUZZ_JOBS:-2}" ]; then
        wait
        running=0
    fi
done
wait
failed=$(cat "$build"/*.result | grep -c failed)
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
