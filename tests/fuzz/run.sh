#!/bin/sh
# Fuzzes targets, two at a time. usage: run.sh BUILD_DIRECTORY TARGET..
# FUZZ_SECONDS (120) for each, FUZZ_JOBS (2) at a time. What is found new is kept in BUILD_DIRECTORY/new/TARGET, what
# fails in BUILD_DIRECTORY/failed: mend it, and put the file into tests/fuzz/corpus/TARGET. Ends with
# "N passed, N failed".
build=$1
shift
mkdir -p "$build/failed"

# Fuzzes one target; its last line is what came of it.
fuzz() {
    new=$build/new/$1
    mkdir -p "$new"
    nice "$build/fuzz_$1" -max_total_time="${FUZZ_SECONDS:-120}" -timeout=20 -rss_limit_mb=2048 -max_len=4096 \
        -print_final_stats=1 -artifact_prefix="$build/failed/$1-" "$new" "tests/fuzz/corpus/$1" >"$build/$1.log" 2>&1
    code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$build/$1.log")
    echo "$([ $code -eq 0 ] && echo ok || echo "--- failed") fuzz_$1: ${runs:-?} executions in ${FUZZ_SECONDS:-120} s" |
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
