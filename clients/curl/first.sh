#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/first.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# A program'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "1 + 2"}'

echo '# y = x * 2'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "y = x * 2", "inputs": {"x": [1, 2.5, 4]}, "outputs": ["y"]}'

echo '# A layer: several inputs, a weak scalar, two answers'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "y = x @ w + b\nsoftmax(y)",
 "inputs": {"x": [[1, 2]], "w": {"dtype": "float32", "shape": [2, 2], "data": [1, 0, 0, 1]}, "b": 0.5},
 "outputs": ["y"]}'

echo '# A tuple is a list of results'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "divmod([7, -7], 2)"}'

echo '# What print writes'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = [[1, 2], [3, 4]]\nprint('\''x is'\'', x)\nprint(x.shape, x.sum())"}'

echo '# Element types follow NumPy: a bare number does not widen'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x + 1", "inputs": {"x": {"dtype": "uint8", "data": [255, 1]}}}'

echo '# Numbers that are no numbers'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x / [1, 0, 0]", "inputs": {"x": [-1, 1, 0]}}'

echo '# Integers divided by zero give 0, and a flag'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x // 0", "inputs": {"x": [7, -7]}}'

echo '# Complex numbers are pairs'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x * 2j", "inputs": {"x": {"dtype": "complex128", "data": [[1, 2], [0, 0.5]]}}}'

echo '# A dry run tells types, memory and work, and computes nothing'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x @ x", "inputs": {"x": [[1.0, 2.0], [3.0, 4.0]]}, "dry_run": true}'

echo '# A program in the address'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval?program=arange(3)*2' \
    -X POST
