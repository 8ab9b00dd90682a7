#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/errors.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Shapes that do not fit: line and column'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = ones((2, 3))\ny = ones((2, 2))\nz = x + y"}'

echo '# An unknown name'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = 1\ny = xx + 1"}'

echo '# An unknown operation'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "softmux([1.0, 2.0])"}'

echo '# An unknown parameter'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "sum([1, 2], axes=0)"}'

echo '# What is no program'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = (1 + "}'

echo '# A member that is not known'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "1", "output": ["x"]}'

echo '# A ragged list'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x", "inputs": {"x": [[1, 2], [3]]}}'

echo '# An index out of range'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x[2]", "inputs": {"x": [1, 2]}}'

echo '# An axis out of range'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "sum(x, axis=1)", "inputs": {"x": [1, 2]}}'

echo '# A number that does not fit'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x + 300", "inputs": {"x": {"dtype": "uint8", "data": [1]}}}'

echo '# More than the limits: refused before anything is allocated'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = ones((30000, 30000)) + 1\nx.sum(axis=0) @ x"}'

echo '# A size that cannot be'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "zeros((1000000, 1000000, 1000))"}'

echo '# A time limit'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = arange(100000000.0)\n(sin(x) * cos(x)).sum()", "timeout_ms": 20}'

echo '# A route that is not there'
curl -sS -g -K "$auth" \
    "$url"'/v1/nowhere'

echo '# A method that a route does not take'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -X DELETE
