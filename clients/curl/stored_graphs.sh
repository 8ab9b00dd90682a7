#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/stored_graphs.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# A graph is stored once its types are right'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"inputs":  {"x": {"dtype": "float64", "shape": [null, "n"]}, "w": {"dtype": "float64", "shape": ["n"]}},
           "nodes":   {"h": {"op": "multiply", "args": ["x", "w"]},
                       "s": {"op": "sum", "args": ["h"], "attrs": {"axis": 1}}},
           "outputs": ["s"]}}'

echo '# Run with feeds; the outputs are the result'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 2, 3], [4, 5, 6]], "w": [1, 2, 3]}}'

echo '# Any node can be fetched'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 2, 3]], "w": [1, 2, 3]}, "fetches": ["h", "s"]}'

echo '# Any node can be fed; what it needed is not asked for'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"h": [[1, 2]]}}'

echo '# Values are checked against the types'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [1, 2, 3], "w": [1, 2, 3]}}'

echo '# A named length is one length'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 2, 3]], "w": [1, 2]}}'

echo '# An input that is neither fed nor stored'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 2, 3]]}}'

echo '# An input that is not fed is the stored variable of its name'
curl -sS -g -K "$auth" \
    "$url"'/v1/variables/w' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '[1.0, 0.0, -1.0]'

echo '# ... here it is taken'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 2, 3]]}}'

echo '# A step of gradient descent: updates are committed with the run'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/step' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "r = x @ w - y\nloss = (r ** 2).mean()\nw_new = w - rate * 2 * (x.T @ r) / x.shape[0]\nloss",
 "inputs": {"x": "dmatrix", "y": "dvector", "w": "dvector", "rate": "dscalar"}}'

echo '# ... run once'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/step/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "y": [2, 2, 2], "rate": 0.5}, "updates": {"w": "w_new"}}'

echo '# ... and again'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/step/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "y": [2, 2, 2], "rate": 0.5}, "updates": {"w": "w_new"}}'

echo '# Givens put one value in the place of another'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/step/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 1, 1]], "y": [0]}, "fetches": ["loss"], "givens": {"r": [3], "w": [0, 0, 0]}}'

echo '# ... by the name of another node'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/step/run' \
    -H 'Content-Type: application/json' \
    --data-binary '{"feeds": {"x": [[1, 1, 1]], "y": [4]}, "fetches": ["loss"], "givens": {"r": "y"}}'

echo '# A stored graph is an operation in programs'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "weighted([[1, 2, 3]], [1, 1, 1]) * 10 + weighted(x=[[0, 0, 1]], w=[5, 5, 5])"}'

echo '# ... with its gradient'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "grad(lambda v: weighted([[1.0, 2.0, 3.0]], v).sum(), array([1.0, 1.0, 1.0]))"}'

echo '# ... and in graphs: args by place, attrs by name'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"y": {"op": "weighted", "args": [[[1, 2, 3]]], "attrs": {"w": {"op": "negative", "args": [[1, 2, 3]]}}}}, "outputs": ["y"]}}'

echo '# Graphs call graphs; params say in which order arguments come'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/twice' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "weighted(x, w) + weighted(x, w)", "inputs": {"x": "dmatrix", "w": "dvector"}, "params": ["w", "x"]}'

echo '# ... in that order'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "twice([1, 2], [[3, 4]])"}'

echo '# A circle of calls is an error'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/weighted' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "twice(x, x)", "inputs": {"x": "dvector"}}'

echo '# A type error is found when a graph is stored'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/wrong' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "x + y", "inputs": {"x": {"dtype": "float64", "shape": [2]}, "y": {"dtype": "float64", "shape": [3]}}}'

echo '# An unknown name, too'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/wrong' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"y": {"op": "exp", "args": ["weights"]}}, "outputs": ["y"]}}'

echo '# Variables and graphs share their names'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/w' \
    -X PUT \
    -H 'Content-Type: application/json' \
    --data-binary '{"program": "1"}'

echo '# The list'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs?limit=2'

echo '# A graph as it was put'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/twice'

echo '# Replaced only if nobody else has'
etag=$(curl -sS -K "$auth" -o /dev/null -w '%header{etag}' "$url"'/v1/graphs/twice')
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/twice' \
    -X PUT \
    -H 'Content-Type: application/json' \
    -H "If-Match: $etag" \
    --data-binary '{"program": "weighted(x, w) * 2", "inputs": {"x": "dmatrix", "w": "dvector"}}'

echo '# ... which is refused otherwise'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/twice' \
    -X PUT \
    -H 'Content-Type: application/json' \
    -H 'If-Match: "0-0.graph"' \
    --data-binary '{"program": "0"}'

echo '# Deleted'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/twice' \
    -X DELETE

echo '# ... and gone'
curl -sS -g -K "$auth" \
    "$url"'/v1/graphs/twice'
