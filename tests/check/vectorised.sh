#!/bin/sh
# Losing a vector form is silent: results stay, time does not. usage: vectorised.sh BUILD_DIRECTORY
# For each scalar maths function that a kernel's object calls, the object must call the vector form
# too. And every kernel with a loop, compiled for AVX-512, must use wide registers, but for those that
# call or divide as no vector can, and copies of complex numbers. A line of that list that names
# nothing any more fails too.
bad=0
complain() {
    echo "$1"
    bad=1
}

for object in "$1"/engine/ops/elementwise_float.c.o; do
    called=$(nm -u "$object" | awk '{print $2}')
    for name in exp expm1 log log1p log2 log10 sin cos tan tanh pow atan2 hypot; do
        for suffix in "" f; do
            echo "$called" | grep -q "^_ZGV.N[0-9]*v*_$name$suffix\$" ||
                complain "$object: $name$suffix has no vector form"
        done
    done
done

scalar='(floor_divide|remainder|power|reciprocal)_[iu](8|16|32|64)
(floor_divide|remainder)_f(32|64)
(exp|expm1|log|log2|log10|power|sigmoid|sign|sqrt|sin|cos|tan|tanh)_c(64|128)
stop_gradient_c(64|128)
to_C(64_of_C64|128_of_C128)'

# The functions for AVX-512 with a loop (a jump back) and no wide register.
narrow() {
    objdump -d --no-show-raw-insn "$@" | awk '
        /^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3) }
        name !~ /[.]arch_x86_64_v4$/ { next }
        /%[yz]mm/ { wide[name] = 1 }
        $2 ~ /^j[^m]/ && sprintf("%18s", $3 ":") < sprintf("%18s", $1) { loop[name] = 1 }
        END { for (name in loop) if (!(name in wide)) print name }' | sed 's/[.]arch.*//'
}
found=$(narrow "$1"/engine/ops/elementwise_*.c.o "$1"/engine/ops/division.c.o "$1"/engine/ops/quick.c.o \
    "$1"/engine/kernels/cast.c.o)
for name in $(echo "$found" | grep -vxE "$(echo "$scalar" | sed 's/.*/kernel_&/')"); do
    complain "$name is no vector code"
done
for form in $scalar; do
    echo "$found" | grep -qxE "kernel_$form" || complain "kernel_$form: said to be scalar, but none is"
done
exit $bad
