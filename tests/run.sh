#!/bin/sh
# Runs every test program and script and adds up what passed. usage: run.sh BUILD_DIRECTORY
# C programs speak as cmocka does; scripts end with "N passed, N failed". A script that says SKIPPED:
# lacks what it tests with, which make deps does not bring; it is named, and counts for nothing.
# Two tests run at a time (JOBS=N: N), but those that say "Runs alone": they measure time.

# Runs one test and says how it went; what it passed and failed goes to its file in $results. A test
# that ends badly without saying so counts as one failure.
run_one() {
    test=$1
    log=$results/$(echo "$test" | tr / -)
    begun=$(date +%s)
    case $test in
    *.c) "$BUILD/${test%.c}" ;;
    *) /usr/bin/python3 "$test" ;;
    esac >"$log.log" 2>&1 </dev/null
    code=$?
    took=$(($(date +%s) - begun))
    p=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p; s/^\([0-9]*\) passed, [0-9]* failed.*/\1/p' "$log.log" | awk '{n += $1} END {print n + 0}')
    f=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p; s/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' "$log.log" | awk '{n += $1} END {print n + 0}')
    if [ "$code" -eq 0 ] && [ "$p" -eq 0 ] && [ "$f" -eq 0 ] && grep -q '^SKIPPED: ' "$log.log"; then
        echo "skipped $test: $(sed -n 's/^SKIPPED: //p' "$log.log")"
        return
    fi
    if [ "$f" -eq 0 ] && { [ "$code" -ne 0 ] || [ "$p" -eq 0 ]; }; then
        f=1
    fi
    echo "$p $f" >"$log.count"
    if [ "$f" -ne 0 ]; then
        { echo "--- $test failed (exit $code, $p passed)" && tail -n "${LINES_OF_LOG:-60}" "$log.log"; } >"$log.said"
    else
        { echo "ok $test ($p, $took s)" && sed -n 's/^note: /    /p' "$log.log"; } >"$log.said"
    fi
    cat "$log.said" # at once, so that what two tests say is not mixed
}

if [ "$1" = --one ]; then
    run_one "$2"
    exit 0
fi

export BUILD="$1" TENSORD="$1/tensord" results="$1/tests/results"
rm -rf "$results"
mkdir -p "$results"
tests=$(find tests -name 'test_*.c' | sort && find tests -name 'test_*.py' | sort)
alone=$(grep -l 'Runs alone' $tests)
echo "$tests" | grep -vxF "$alone" | xargs -n 1 -P "${JOBS:-2}" "$0" --one
echo "$alone" | xargs -n 1 "$0" --one
cat "$results"/*.count | awk '{p += $1; f += $2} END {print p + 0 " passed, " f + 0 " failed"; exit f > 0 || p == 0}'
