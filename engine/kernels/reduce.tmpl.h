/* Folding a run of elements with an elementwise operation, for one type.
 *
 * A template, included at the end of elementwise.tmpl.h with its T and SUFFIX.
 * Element i goes to lane i mod REDUCE_LANES, so the loop is vector code; the
 * lanes are folded in a fixed tree. The result does not depend on how a run was
 * cut, as long as the cuts are multiples of REDUCE_LANES. */

#define REDUCE(name)                                                                               \
    CPU_LEVELS void JOIN(lanes_##name, SUFFIX)(size_t n, void *partial, const void *in,            \
                                               const char *next)                                   \
    {                                                                                              \
        IN_LOOP(T) lane[REDUCE_LANES];                                                             \
        const IN_LOOP(T) *x = in;                                                                  \
        size_t i = 0;                                                                              \
                                                                                                   \
        memcpy(lane, partial, sizeof lane);                                                        \
        for (; i + REDUCE_LANES <= n; i += REDUCE_LANES, next += sizeof lane) {                    \
            for (size_t k = 0; k < sizeof lane; k += CACHE_LINE)                                   \
                prefetch_line(next + k);                                                           \
            for (size_t k = 0; k < REDUCE_LANES; k++)                                              \
                lane[k] = OF(name##_element)(lane[k], x[i + k]);                                   \
        }                                                                                          \
        for (size_t k = 0; i + k < n; k++)                                                         \
            lane[k] = OF(name##_element)(lane[k], x[i + k]);                                       \
        memcpy(partial, lane, sizeof lane);                                                        \
    }                                                                                              \
                                                                                                   \
    CPU_LEVELS void JOIN(fold_##name, SUFFIX)(const void *partial, void *out)                      \
    {                                                                                              \
        IN_LOOP(T) lane[REDUCE_LANES];                                                             \
                                                                                                   \
        memcpy(lane, partial, sizeof lane);                                                        \
        for (size_t width = REDUCE_LANES / 2; width > 0; width /= 2)                               \
            for (size_t k = 0; k < width; k++)                                                     \
                lane[k] = OF(name##_element)(lane[k], lane[k + width]);                            \
        memcpy(out, lane, sizeof(T));                                                              \
    }

REDUCE(add)
REDUCE(multiply)
REDUCE(maximum)
REDUCE(minimum)

#undef REDUCE
