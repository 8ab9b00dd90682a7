#!/bin/sh
# Runs under ThreadSanitizer what threads share: the pool and the plans that run on it, the
# storage, jobs, the server under several clients. usage: tsan.sh BUILD_DIRECTORY
# A report fails the test that it came from. Ends with "N passed, N failed".
build=$1
reports=$(mktemp -d)
export TENSORD="$build/tensord" BUILD="$build" TSAN_OPTIONS="log_path=$reports/report"
passed=0
failed=0

run() {
    name=$1
    shift
    "$@" >"$reports/output" 2>&1 </dev/null
    code=$?
    found=$(cat "$reports"/report.* 2>/dev/null | grep -c '^WARNING: ThreadSanitizer')
    if [ "$code" -eq 0 ] && [ "$found" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $name"
        return
    fi
    failed=$((failed + 1))
    echo "--- $name failed (exit $code, $found reports)"
    cat "$reports"/report.* 2>/dev/null | head -80
    tail -20 "$reports/output"
    rm -f "$reports"/report.*
}

for test in tests/storage/test_*.c tests/server/jobs/test_*.c tests/derived/test_prepared.c \
    tests/engine/base/test_log.c; do
    run "$test" "$build/${test%.c}"
done
for test in tests/engine/exec/test_*.py tests/api/test_jobs.py tests/api/test_changes.py \
    tests/api/test_idempotency.py tests/api/test_versions.py; do
    run "$test" /usr/bin/python3 "$test"
done
rm -rf "$reports"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
