#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/small_language.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Elementwise product, with broadcasting'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = [[1,2],[3,4]]; y = [5,6]; z = x . y", "dialect": "tensor", "outputs": ["z"]}'

echo '# Tensor product: the last axis of the left with the first of the right'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = [[1,2],[3,4]]; y = [[[5,6],[7,8],[9,10]],[[5,6],[7,8],[9,10]]]; z = x * y", "dialect": "tensor", "outputs": ["z"]}'

echo '# A vector on the left of * is one row'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = [1,2]; y = [[3,4,5],[6,7,8]]; z = x * y", "dialect": "tensor", "outputs": ["z"]}'

echo '# A vector on the right of * is a column'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "a = [[1,2],[3,4]] * [5,6]; b = [1,2] * [3,4]", "dialect": "tensor", "outputs": ["a", "b"]}'

echo '# slice takes begin and size'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "slice([[[1,1,1],[2,2,2]],[[3,3,3],[4,4,4]],[[5,5,5],[6,6,6]]], [1,0,0], [1,2,3])", "dialect": "tensor"}'

echo '# A size of -1 reaches to the end'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "tensor_slice([1,2,3,4], [1], [-1])", "dialect": "tensor"}'

echo '# reshape takes one -1'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "reshape([1,2,3,4,5,6], [2,-1])", "dialect": "tensor"}'

echo '# Shapes and sizes are printed, and values'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = zero((2,2)); s = get_shape(x); n = size(x)", "dialect": "tensor", "outputs": ["s", "n"]}'

echo '# print writes nested lists'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "y = [[3,4,5],[6,7,8]]; print(y)", "dialect": "tensor"}'

echo '# Ones and zeros'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "a = one((2,2)) + zero(2); a", "dialect": "tensor"}'

echo '# A decimal point makes float64; a scalar broadcasts'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = [1.5, 2] + 1; x - 0.5", "dialect": "tensor"}'

echo '# Random integers from 0 to 9'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = rand(3, 4); x . 0", "dialect": "tensor"}'

echo '# Shapes that do not broadcast'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "[1,2] + [1,2,3]", "dialect": "tensor"}'

echo '# A product of shapes that do not fit'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "[[1,2],[3,4]] * [[1,2,3]]", "dialect": "tensor"}'

echo '# A scalar has no tensor product'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "2 * [1,2]", "dialect": "tensor"}'

echo '# What is no program'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = [1,2", "dialect": "tensor"}'
