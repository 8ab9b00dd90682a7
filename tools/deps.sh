#!/bin/sh
# Installs what tensord needs to be built and tested, by Debian's package names. Asks
# nothing when run by root; otherwise prints the command to run. PEERS=1: what speed is
# compared with instead. FUZZ=1, VALGRIND=1: what make fuzz and make valgrind need besides.
packages="g++ libmicrohttpd-dev libjansson-dev libsqlite3-dev libcurl4-openssl-dev \
libopenblas-dev libsleef-dev zlib1g-dev libutf8proc-dev librandom123-dev libcmocka-dev \
curl openssl clang-format graphviz python3-numpy"
[ -n "$FUZZ" ] && packages="clang llvm"
[ -n "$VALGRIND" ] && packages="valgrind libc6-dbg"
[ -n "$PEERS" ] && packages="wrk python3-numpy python3-numexpr python3-torch python3-numba"

missing=""
for package in $packages; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed"; then
        missing="$missing $package"
    fi
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "These packages are missing. Install them and try again:" >&2
    echo "    sudo apt-get install -y$missing" >&2
    exit 1
fi
echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends $missing >/dev/null
