#!/bin/sh
# Compares every #include of the product with layers.txt. Prints each arrow that is
# not in the table.
cd "$(dirname "$0")/../.." || exit 2
find engine storage server \( -name '*.c' -o -name '*.cc' -o -name '*.h' \) -print |
    xargs grep -H '^#include' |
    awk '
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
    BEGIN {
        while ((getline line < "tests/check/layers.txt") > 0) {
            if (line ~ /^#/ || line ~ /^ *$/) continue
            n = split(line, part, ":")
            m = split(part[2], target, " ")
            if (part[1] ~ /\.h$|\/$/) { third[part[1]] = " " part[2] " " }
            else { known[part[1]] = 1; for (i = 1; i <= m; i++) edge[part[1], target[i]] = 1 }
        }
    }
    {
        split($0, x, ":#include ")
        from = folder(x[1]); name = x[2]
        if (name ~ /^"/) {
            gsub(/"/, "", name); sub(/ .*/, "", name)
            to = folder(name)
            if (!(from in known)) { print x[1] ": the folder is not in layers.txt"; bad = 1 }
            else if (from != to && !((from, to) in edge)) { print x[1] " includes " name; bad = 1 }
        } else {
            for (t in third) if (index(name, "<" t) == 1 && index(third[t], " " from " ") == 0) {
                print x[1] " includes " name; bad = 1
            }
        }
    }
    END { exit bad }'
