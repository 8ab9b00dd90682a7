#!/bin/sh
# For each scalar maths function that a kernel's object calls, the object must call the
# vector form too: losing it is silent otherwise. usage: vectorised.sh BUILD_DIRECTORY
bad=0
for object in "$1"/engine/ops/elementwise_float.c.o; do
    called=$(nm -u "$object" | awk '{print $2}')
    for name in exp expm1 log log1p log2 log10 sin cos tan tanh pow atan2 hypot; do
        for suffix in "" f; do
            if ! echo "$called" | grep -q "^_ZGV.N[0-9]*v*_$name$suffix\$"; then
                echo "$object: $name$suffix has no vector form"
                bad=1
            fi
        done
    done
done
exit $bad
