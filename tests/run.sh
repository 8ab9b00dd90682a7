#!/bin/sh
# Runs every test program and script and adds up what passed. usage: run.sh BUILD_DIRECTORY
# C programs speak as cmocka does; scripts end with "N passed, N failed". A script that says SKIPPED:
# lacks what it tests with, which make deps does not bring; it is named, and counts for nothing.
build=$1
passed=0
failed=0
log=$build/tests/log
mkdir -p "$build/tests"
export TENSORD="$build/tensord" BUILD="$build"

# Counts what one test, run with its arguments, says; a test that ends badly without
# saying so counts as one failure.
run() {
    name=$1
    shift
    begun=$(date +%s)
    "$@" >"$log" 2>&1 </dev/null
    code=$?
    took=$(($(date +%s) - begun))
    p=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p; s/^\([0-9]*\) passed, [0-9]* failed.*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
    f=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p; s/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
    if [ "$code" -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
    fi
    if [ "$code" -eq 0 ] && [ "$p" -eq 0 ] && [ "$f" -eq 0 ] && grep -q '^SKIPPED: ' "$log"; then
        echo "skipped $name"
        sed -n 's/^SKIPPED: /    /p' "$log"
        return
    fi
    if [ "$code" -eq 0 ] && [ "$p" -eq 0 ]; then
        f=1
        echo "$name ran no test"
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    if [ "$f" -ne 0 ]; then
        echo "--- $name failed (exit $code)"
        tail -n "${LINES_OF_LOG:-60}" "$log"
    else
        echo "ok $name ($p, $took s)"
        sed -n 's/^note: /    /p' "$log"
    fi
}

for test in $(find tests -name 'test_*.c' | sort); do
    run "$test" "$build/${test%.c}"
done
for test in $(find tests -name 'test_*.py' | sort); do
    run "$test" /usr/bin/python3 "$test"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
