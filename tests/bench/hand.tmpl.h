/* The works of rows.def by hand, for one type of elements.
 *
 * A template: no include guard. The includer defines T and SUFFIX, and both are undefined
 * at the end. Threads get whole blocks of BLOCK elements, or whole rows. */

/* ---- One pass, element by element ------------------------------------------------------ */

#define INPUTS                                                                                     \
    const T *a = w->in[0], *b = w->in[1], *c = w->in[2], *d = w->in[3];                            \
    (void)b, (void)c, (void)d

#define LIMIT(name)                                                                                \
    CPU_LEVELS static void OF(name##_part)(hand_work * w, int thread, int64_t from, int64_t to)

/* inputs: how many of a, b, c, d are read. */
#define ELEMENTWISE(name, inputs, body)                                                            \
    LIMIT(name)                                                                                    \
    {                                                                                              \
        _Alignas(64) T block[BLOCK];                                                               \
        T *out = w->out;                                                                           \
        INPUTS;                                                                                    \
        (void)thread;                                                                              \
        for (int64_t i = from; i < to; i += BLOCK) {                                               \
            for (int64_t k = i + AHEAD; k < i + AHEAD + BLOCK; k += 64 / (int64_t)sizeof(T))       \
                for (int j = 0; j < inputs; j++)                                                   \
                    prefetch_line((const T *)w->in[j] + k);                                        \
            for (int64_t k = i; k < i + BLOCK; k++)                                                \
                block[k - i] = body;                                                               \
            stream_copy(out + i, block, sizeof block);                                             \
        }                                                                                          \
        stream_finish();                                                                           \
    }                                                                                              \
    HAND void OF(hand_##name)(hand_work *w)                                                        \
    {                                                                                              \
        hand_run(OF(name##_part), w, w->rows *w->columns, BLOCK);                                  \
    }

ELEMENTWISE(chain, 4, 2 * a[k] + 3 * b[k] * sin(c[k]) - exp(d[k]))
ELEMENTWISE(bell, 3, c[k] * exp(-((a[k] - b[k]) * (a[k] - b[k]))))
ELEMENTWISE(root, 3, sqrt(a[k] * a[k] + b[k] * b[k]) / (1 + log(c[k])))
ELEMENTWISE(tanh, 3, tanh(a[k] * b[k] + c[k]))
ELEMENTWISE(multiply_add, 3, a[k] * b[k] + c[k])

/* ---- By rows ------------------------------------------------------------------------------ */

#define BY_ROWS(name)                                                                              \
    HAND void OF(hand_##name)(hand_work *w)                                                        \
    {                                                                                              \
        hand_run(OF(name##_part), w, w->rows, 1);                                                  \
    }

LIMIT(outer)
{
    const T *a = w->in[0], *b = w->in[1];
    const int64_t n = w->out_columns;

    (void)thread;
    for (int64_t i = from; i < to; i++) {
        _Alignas(64) T row[COLUMNS_MAX];

        for (int64_t k = 0; k < n; k++)
            row[k] = a[i] + b[k];
        stream_copy((T *)w->out + i * n, row, (size_t)n * sizeof(T));
    }
    stream_finish();
}
BY_ROWS(outer)

/* The sum of body(x) over a row, in lanes; asks for the lines of `next` meanwhile. */
#define SUM_OF_ROW(name, body)                                                                     \
    ALWAYS_INLINE T OF(name)(const T *row, int64_t n, T m, T *e, const T *next)                    \
    {                                                                                              \
        T lane[REDUCE_LANES] = {0}, sum = 0;                                                       \
        int64_t i = 0;                                                                             \
        (void)m, (void)e;                                                                          \
        for (; i + REDUCE_LANES <= n; i += REDUCE_LANES) {                                         \
            for (int64_t k = 0; k < REDUCE_LANES; k += 64 / (int64_t)sizeof(T))                    \
                prefetch_line(next + i + k);                                                       \
            for (int64_t k = 0; k < REDUCE_LANES; k++) {                                           \
                const T x = row[i + k];                                                            \
                T *const to = e + i + k;                                                           \
                (void)to;                                                                          \
                lane[k] += body;                                                                   \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            const T x = row[i];                                                                    \
            T *const to = e + i;                                                                   \
            (void)to;                                                                              \
            sum += body;                                                                           \
        }                                                                                          \
        for (int64_t k = 0; k < REDUCE_LANES; k++)                                                 \
            sum += lane[k];                                                                        \
        return sum;                                                                                \
    }
SUM_OF_ROW(sum_of, x)
SUM_OF_ROW(squares_of, (x - m) * (x - m))
SUM_OF_ROW(exps_of, (*to = exp(x - m)))

ALWAYS_INLINE T OF(max_of)(const T *row, int64_t n)
{
    T lane[REDUCE_LANES], max = row[0];
    int64_t i = 0;

    for (int64_t k = 0; k < REDUCE_LANES; k++)
        lane[k] = row[0];
    for (; i + REDUCE_LANES <= n; i += REDUCE_LANES)
        for (int64_t k = 0; k < REDUCE_LANES; k++)
            lane[k] = row[i + k] > lane[k] ? row[i + k] : lane[k];
    for (; i < n; i++)
        max = row[i] > max ? row[i] : max;
    for (int64_t k = 0; k < REDUCE_LANES; k++)
        max = lane[k] > max ? lane[k] : max;
    return max;
}

LIMIT(sum_rows)
{
    const int64_t n = w->columns;
    const T *a = w->in[0];

    (void)thread;
    for (int64_t i = from; i < to; i++)
        ((T *)w->out)[i] = OF(sum_of)(a + i * n, n, 0, NULL, a + i * n + AHEAD);
}
BY_ROWS(sum_rows)

LIMIT(sum_part)
{
    const int64_t n = w->columns;
    const T *a = w->in[0];
    double sum = 0;

    for (int64_t i = from; i < to; i++)
        sum += OF(sum_of)(a + i * n, n, 0, NULL, a + i * n + AHEAD);
    w->partial[thread] = sum;
}

HAND void OF(hand_sum)(hand_work *w)
{
    hand_run(OF(sum_part_part), w, w->rows, 1);
    hand_add_partials(w);
}

LIMIT(dot)
{
    const T *a = w->in[0], *b = w->in[1];
    T lane[REDUCE_LANES] = {0};

    for (int64_t i = from; i < to; i += REDUCE_LANES) {
        for (int64_t k = AHEAD; k < AHEAD + REDUCE_LANES; k += 64 / (int64_t)sizeof(T)) {
            prefetch_line(a + i + k);
            prefetch_line(b + i + k);
        }
        for (int64_t k = 0; k < REDUCE_LANES; k++)
            lane[k] += a[i + k] * b[i + k];
    }
    w->partial[thread] = 0;
    for (int64_t k = 0; k < REDUCE_LANES; k++)
        w->partial[thread] += lane[k];
}

HAND void OF(hand_dot)(hand_work *w)
{
    hand_run(OF(dot_part), w, w->rows * w->columns, REDUCE_LANES);
    hand_add_partials(w);
}

/* Panels of columns that stay in registers' reach, all rows of a thread's part. */
LIMIT(sum_columns)
{
    const int64_t n = w->columns;
    T *sum = (T *)w->row[thread];

    memset(sum, 0, (size_t)n * sizeof(T));
    for (int64_t i = from; i < to; i++) {
        const T *row = (const T *)w->in[0] + i * n;

        for (int64_t at = 0; at < n; at += BLOCK) {
            const int64_t end = at + BLOCK < n ? at + BLOCK : n;

            for (int64_t k = at; k < end; k += 64 / (int64_t)sizeof(T))
                prefetch_line(row + AHEAD + k);
            for (int64_t k = at; k < end; k++)
                sum[k] += row[k];
        }
    }
}

HAND void OF(hand_sum_columns)(hand_work *w)
{
    T *out = w->out;

    hand_run(OF(sum_columns_part), w, w->rows, 1);
    memset(out, 0, (size_t)w->columns * sizeof(T));
    for (int t = 0; t < w->threads; t++)
        for (int64_t k = 0; k < w->columns; k++)
            out[k] += ((T *)w->row[t])[k];
}

/* ---- Several passes over a row that stays in the first-level cache --------------------------- */

LIMIT(softmax)
{
    const int64_t n = w->columns;

    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const T *row = (const T *)w->in[0] + i * n;
        _Alignas(64) T e[COLUMNS_MAX];
        const T sum = OF(exps_of)(row, n, OF(max_of)(row, n), e, row + n);

        for (int64_t k = 0; k < n; k++)
            e[k] /= sum;
        stream_copy((T *)w->out + i * n, e, (size_t)n * sizeof(T));
    }
    stream_finish();
}
BY_ROWS(softmax)

LIMIT(layer_norm)
{
    const int64_t n = w->columns;

    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const T *row = (const T *)w->in[0] + i * n;
        _Alignas(64) T e[COLUMNS_MAX];
        const T mean = OF(sum_of)(row, n, 0, NULL, row + n) / (T)n;
        const T deviation = sqrt(OF(squares_of)(row, n, mean, NULL, row) / (T)n + (T)1e-5);

        for (int64_t k = 0; k < n; k++)
            e[k] = (row[k] - mean) / deviation;
        stream_copy((T *)w->out + i * n, e, (size_t)n * sizeof(T));
    }
    stream_finish();
}
BY_ROWS(layer_norm)

LIMIT(variance)
{
    const int64_t n = w->columns;

    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const T *row = (const T *)w->in[0] + i * n;
        const T mean = OF(sum_of)(row, n, 0, NULL, row + n) / (T)n;

        ((T *)w->out)[i] = OF(squares_of)(row, n, mean, NULL, row) / (T)n;
    }
}
BY_ROWS(variance)

#undef INPUTS
#undef LIMIT
#undef ELEMENTWISE
#undef BY_ROWS
#undef SUM_OF_ROW
#undef T
#undef SUFFIX
