#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/digits.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Store the images'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/digits' \
    -X PUT \
    -H 'Content-Type: application/x-npy' \
    --data-binary @"$examples/digits.npy"

echo '# Store the weights to begin with'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "w1, b1 = 0.2 * random_normal((64, 32), seed=1), zeros(32)\nw2, b2 = 0.2 * random_normal((32, 10), seed=2), zeros(10)",
 "store": ["w1", "b1", "w2", "b2"]}'

echo '# Define the training; the types of the variables it uses are checked'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/train' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary @"$examples/digits.json"

echo '# What will be computed'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/train?view=pretty&optimized=true'

echo '# Train: the share of the other images that are read right, and new weights'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/train/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"updates": {"w1": "v1", "b1": "c1", "w2": "v2", "b2": "c2"}}'

echo '# Train on: nine of ten'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/train/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"updates": {"w1": "v1", "b1": "c1", "w2": "v2", "b2": "c2"}}'

echo '# Look at an image that it has not seen'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "int64(digits[1700, :64].reshape(8, 8) > 7)"}'

echo '# Read it and four more; below, what they are'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "p = softmax(relu(digits[1700:1705, :64] / 16.0 @ w1 + b1) @ w2 + b2, axis=1)\nstack([argmax(p, axis=1), digits[1700:1705, 64]])"}'
