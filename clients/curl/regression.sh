#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/regression.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Store the table'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/engel' \
    -X PUT \
    -H 'Content-Type: application/x-npy' \
    --data-binary @"$examples/engel.npy"

echo '# Fit the line'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary @"$examples/regression.json"

echo '# Read the fit: food = 147 francs + 0.485 income'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/fit'

echo '# It is what the formula gives'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x = engel[:, 0]\ny = engel[:, 1]\nslope = sum((x - mean(x)) * (y - mean(y))) / sum((x - mean(x)) ** 2)\nabs(fit - stack([mean(y) - slope * mean(x), slope])).max() < 1e-9"}'
