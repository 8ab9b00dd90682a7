#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/changing.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Two tensors by one commit'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"a": [[1, 2, 3], [4, 5, 6]], "b": [0.5, 1.5]}'

echo '# A part is written, as NumPy writes a[:, 1] = [20, 50]'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/a?slice=:,1' \
    -X PATCH \
    -H 'Content-Type: application/json' \
    --data-binary '[20, 50]'

echo '# One row more'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/a/append?axis=0' \
    -H 'Content-Type: application/json' \
    --data-binary '[7, 8, 9]'

echo '# An integer array takes what it can hold'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/a?slice=0,0' \
    -X PATCH \
    -H 'Content-Type: application/json' \
    --data-binary '0.5'

echo '# Both at once, from one snapshot'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables?names=a,b'

echo '# What it looks like'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/a/preview?kind=histogram&max=2'

echo '# A request with a key'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    -H 'Idempotency-Key: 4f1c' \
    --data-binary '{"program": "b = b + 1\nb", "store": ["b"]}'

echo '# Sent again: it is not done again'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    -H 'Idempotency-Key: 4f1c' \
    --data-binary '{"program": "b = b + 1\nb", "store": ["b"]}'

echo '# The key with another request'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    -H 'Idempotency-Key: 4f1c' \
    --data-binary '{"program": "b"}'

echo '# To be answered later'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    -H 'Prefer: respond-async' \
    --data-binary '{"program": "a.sum()"}'
