#!/bin/sh
# Starts the server, asks it one question, shows the answer and stays in the foreground
# until Ctrl-C. usage: run.sh PATH_OF_TENSORD
tensord=$1
data=${TENSORD_DATA:-./tensord-data}
listen=${TENSORD_LISTEN:-127.0.0.1:8750}
fifo=$(mktemp -u)
mkfifo "$fifo"
"$tensord" serve --data "$data" --listen "$listen" >"$fifo" &
server=$!
trap 'kill -INT $server 2>/dev/null' INT TERM
read -r _ _ url <"$fifo"
rm -f "$fifo"
if [ -z "$url" ]; then
    wait $server
    exit $?
fi
question='{"program": "x = [[1, 2], [3, 4]]\ny = x @ x\ny.sum(axis=0)"}'
echo "tensord listens on $url and keeps its data in $data"
echo
echo "\$ curl -K $data/curl $url/v1/eval -d '$question'"
curl -s -K "$data/curl" "$url/v1/eval" -H 'Content-Type: application/json' -d "$question"
echo
echo
echo "In a browser, once, within ten minutes: $("$tensord" login --data "$data")"
echo
echo "Ctrl-C stops it."
while kill -0 $server 2>/dev/null; do
    wait $server
    code=$?
done
exit $code
