#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/variables.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Store a tensor'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '[[1.5, 2], [3, 4]]'

echo '# Read it'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed'

echo '# It has not changed since'
etag=$(curl -sS -K "$auth" -o /dev/null -w '%header{etag}' "$url"'/v1/variables/speed')
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed' \
    -H "If-None-Match: $etag"

echo '# Only a part'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed?slice=:,1'

echo '# As a .npy file'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed?format=npy' | od -c

echo '# A range of bytes'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed?format=raw' \
    -H 'Range: bytes=8-15' | od -c

echo '# Use it by its name, and store what comes out, all at once'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "doubled = speed * 2\ntotal = doubled.sum()", "store": {"double_speed": "doubled", "total": "total"}}'

echo '# The names there are'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables?limit=2'

echo '# The next page'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables?limit=2&cursor=speed'

echo '# Rename: store and delete in one commit'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "total", "store": {"sum": "total"}, "delete": ["total"]}'

echo '# The old name is gone'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/total'

echo '# Write only if nobody has written'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed' \
    -X PUT \
    -H 'Content-Type: application/json' \
    -H 'If-None-Match: *' \
    --data-binary '0'

echo '# A name that is new, kept in a file of its own'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/big?storage=memmap' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"dtype": "int16", "data": [1, 2]}'

echo '# Write only if it is still what was read'
etag=$(curl -sS -K "$auth" -o /dev/null -w '%header{etag}' "$url"'/v1/variables/big')
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/big' \
    -X PUT \
    -H 'Content-Type: application/json' \
    -H "If-Match: $etag" \
    --data-binary '[1]'

echo '# Attributes'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed/attributes' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"unit": "m/s", "axes": ["run", "lap"]}'

echo '# Attributes are among the metadata'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed/meta'

echo '# Remove it'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed' \
    -X DELETE

echo '# It is gone'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/speed'
