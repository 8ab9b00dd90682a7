#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/operations.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples

echo '# One operation'
curl -sS -g -K "$auth" \
    "$url"'/v1/ops/sum'

echo '# By another library'\''s name'
curl -sS -g -K "$auth" \
    "$url"'/v1/ops/reduce_sum'

echo '# A name that is nearly right'
curl -sS -g -K "$auth" \
    "$url"'/v1/ops/softmx'

echo '# Search'
curl -sS -g -K "$auth" \
    "$url"'/v1/ops?q=softmax'
