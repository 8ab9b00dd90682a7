#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/views.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# A model'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "def layer(x, w): return maximum(x @ w, 0)\nh = layer(x, w)\ny = (h * 1 + h) / 2\nlog(1 + y.sum(axis=1))",
 "inputs": {"x": {"dtype": "float64", "shape": ["n", 2]}, "w": "dmatrix"}}'

echo '# One line'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=pretty'

echo '# The function of the program in place'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=pretty&expand=true'

echo '# Optimised'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=pretty&optimized=true'

echo '# LaTeX'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=latex'

echo '# Theano'\''s debugprint'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=debug'

echo '# Variables, applies, owners and clients'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=apply'

echo '# A picture in Graphviz'\''s language'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=dot'

echo '# ... as Theano draws it'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=dot&style=structure'

echo '# What rewriting did, in order'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=rewrites'

echo '# A view that is none'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/model?view=photo'
