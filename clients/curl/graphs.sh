#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/graphs.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# Rows times weights, summed'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"inputs":  {"x": {"dtype": "float64", "shape": [null, 3]}, "w": {"dtype": "float64", "shape": [3]}},
           "nodes":   {"s": {"op": "sum", "args": ["h"], "attrs": {"axis": 1, "keepdims": false}},
                       "h": {"op": "multiply", "args": ["x", "w"]}},
           "outputs": ["s"]},
 "inputs": {"x": [[1, 2, 3], [4, 5, 6]], "w": [1, 2, 3]},
 "outputs": ["h"]}'

echo '# A node with two outputs, a node in place, a constant, a weak scalar'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"q": {"op": "divmod", "args": [[7, -7], 2]},
                     "y": {"op": "add", "args": [{"op": "square", "args": ["q:1"]}, {"ref": "q:0"}]}},
           "outputs": ["q", "q:1", "y"]}}'

echo '# Indexing by a key; $1 is the second argument'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"g": {"op": "getitem", "args": ["x", "i"], "attrs": {"key": "$1, ::-1, None"}}}, "outputs": ["g"]},
 "inputs": {"x": [[1, 2], [3, 4], [5, 6]], "i": [2, 0]}}'

echo '# A choice between two sub-graphs'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"p": {"op": "greater", "args": [{"op": "sum", "args": ["x"]}, 0]},
                     "y": {"op": "cond", "args": ["p"], "attrs": {
                       "true_fn":  {"nodes": {"d": {"op": "multiply", "args": ["x", 2]}}, "outputs": ["d"]},
                       "false_fn": {"nodes": {"n": {"op": "negative", "args": ["x"]}}, "outputs": ["n"]}}}},
           "outputs": ["y"]},
 "inputs": {"x": [1, 2]}}'

echo '# A shape that is computed'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"n": {"op": "size", "args": ["x"]}, "z": {"op": "zeros", "attrs": {"shape": [{"ref": "n"}, 2], "dtype": "int8"}}}, "outputs": ["z"]},
 "inputs": {"x": [1, 2, 3]}}'

echo '# Lengths that must agree'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"inputs": {"x": {"shape": ["n"]}, "y": {"shape": ["n"]}}, "nodes": {"s": {"op": "add", "args": ["x", "y"]}}, "outputs": ["s"]},
 "inputs": {"x": [1, 2], "y": [1]}}'

echo '# A cycle is listed'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"a": {"op": "exp", "args": ["b"]}, "b": {"op": "log", "args": ["c"]}, "c": {"op": "negative", "args": ["a"]}}}}'

echo '# An unknown operation'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"y": {"op": "multply", "args": [1, 2]}}}}'

echo '# An unknown reference'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"first": {"op": "exp", "args": [1.0]}, "y": {"op": "exp", "args": ["firts"]}}}}'

echo '# An unknown attribute'
curl -sS -g -K "$auth" \
    "$url"'/v1/eval' \
    -H 'Content-Type: application/json' \
    --data-binary '{"graph": {"nodes": {"y": {"op": "sum", "args": [[1, 2]], "attrs": {"axes": 0}}}}}'
