#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/binary.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# The result as a .npy file'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    -H 'Accept: application/x-npy' \
    --data-binary '{"program": "arange(3) * 2"}' | od -c

echo '# A .npy file in, as x, and the program in the address'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval?program=x.shape,x.mean(axis=0)' \
    -H 'Content-Type: application/x-npy' \
    --data-binary @"$examples/engel.npy"

echo '# In and out as .npy'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval?program=x%2B0' \
    -H 'Content-Type: application/x-npy' \
    -H 'Accept: application/x-npy' \
    --data-binary @"$examples/engel.npy" | od -c

echo '# Outputs and result in a .npz file'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval?format=npz' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "a = [[1, 2], [3, 4]]\na.sum()", "outputs": ["a"]}' | od -c

echo '# A tuple in a .npz file'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval?format=npz' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "divmod([7.5], 2)"}' | od -c

echo '# The elements alone'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval?format=raw' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "array([1, -1], dtype=int16)"}' | od -c

echo '# A table for people'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval?format=csv' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "array([[1, 2.5], [3, 4]])"}'

echo '# bytes in base64'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x + 1", "inputs": {"x": {"dtype": "int32", "shape": [2], "base64": "AQAAAAIAAAA="}}}'

echo '# One .npy file cannot hold two tensors'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    -H 'Accept: application/x-npy' \
    --data-binary '{"program": "1, 2"}' | od -c
