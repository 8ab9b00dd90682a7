#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/numpy.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Broadcasting: (3, 2, 2, 1) + (1, 3) is (3, 2, 2, 3)'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "a = arange(12).reshape(3, 2, 2, 1)\nb = array([[10, 20, 30]])\na + b"}'

echo '# Matrix products'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "a @ b, a @ v, v @ a, dot(v, v)", "inputs": {"a": [[1, 2], [3, 4]], "b": [[0, 1], [1, 0]], "v": [5, 6]}}'

echo '# Reductions along axes'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x.sum(), x.sum(axis=0), x.mean(axis=1, keepdims=True), x.max(), x.argmax(axis=-1)", "inputs": {"x": [[1, 5, 3], [4, 2, 6]]}}'

echo '# Indexing: slices, an axis more, a list of integers, a mask'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x[1:, ::-1], x[:, None, 0], x[[1, 0, 1]], x[x > 3]", "inputs": {"x": [[1, 2, 3], [4, 5, 6]]}}'

echo '# Assignment to a part gives a new tensor'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "y = x\ny[1:3] = 0\ny[0] += 10", "inputs": {"x": [1, 2, 3, 4]}, "outputs": ["x", "y"]}'

echo '# Functions of one'\''s own'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "def poly(x, a=1):\n    y = a * x\n    return y * y + y\nsq = lambda t: t ** 2\npoly(x), poly(x, a=2), sq(x)", "inputs": {"x": [1.0, 2.0]}}'

echo '# A choice that data make'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "cond(x.sum() > 0, lambda: x * 2, lambda: -x)", "inputs": {"x": [1, -5, 2]}}'

echo '# Seeds make draws repeatable'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "a = rand((2, 3), seed=7)\nb = rand((2, 3), seed=7)\nall(a == b)"}'
