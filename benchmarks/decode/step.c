// A decode step of one sequence on a CPU, compiled and called by c_step.py. Compiled once for each
// dtype of weights and cache: float, or bfloat16 with -DBFLOAT16. All sums are kept in float.
//
// Matrices are read where torch keeps them, whichever of their two axes is contiguous. Threads
// share the outputs of a product and the positions of attention; what is small each computes for
// itself, which is cheaper than waiting for another.

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#ifdef BFLOAT16
typedef uint16_t number;
static inline float wide(number x) {
    union { uint32_t bits; float value; } to = {(uint32_t)x << 16};
    return to.value;
}
static inline number narrow(float x) {  // to the nearest, halves to even
    union { float value; uint32_t bits; } from = {x};
    return (from.bits + 0x7FFF + ((from.bits >> 16) & 1)) >> 16;
}
#else
typedef float number;
static inline float wide(number x) { return x; }
static inline number narrow(float x) { return x; }
#endif

enum { COLUMNS = 1024, POSITIONS = 512, OUTPUTS = 4 };

typedef struct {
    const number *data;
    long stride;      // of the axis that is not contiguous
    long rows_first;  // whether that is the input axis: rows of outputs lie together
    long n_in, n_out;
} Matrix;

typedef struct {
    long n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_threads;
    float norm_eps;
    const Matrix *matrices;      // w_qkv, w_o, w_gate_up, w_down of each layer; at the end lm_head
    const number *const *norms;  // attention and MLP of each layer; at the end the final one
    const number *embedding;
    number *cache;  // (L, 2, G, max_len, d_h) with these strides
    long layer_stride, value_stride, group_stride, position_stride, feature_stride;
    float *x, *qkv, *hidden, *partial, *wide_logits;
} Model;

// Sums of products of x (n,), number i at PLACE(i, n), with each of OUTPUTS columns, s numbers apart.
#ifdef BFLOAT16
typedef float floats __attribute__((vector_size(64), aligned(4)));
typedef uint32_t pairs __attribute__((vector_size(64), aligned(2), may_alias));

typedef float eight __attribute__((vector_size(32)));
typedef float four __attribute__((vector_size(16)));

static inline float sum_of(floats x) {
    union { floats whole; eight half[2]; } a = {x};
    union { eight whole; four half[2]; } b = {a.half[0] + a.half[1]};
    const four c = b.half[0] + b.half[1];
    return c[0] + c[1] + (c[2] + c[3]);
}

// Two numbers lie in 32 bits: shifted up, the even one is a float; with its lower half cleared, the
// odd one is. So x comes as its even numbers and then its odd ones, and nothing is widened.
#define PLACE(i, n) ((i) % 2 * (((n) + 1) / 2) + (i) / 2)

static void dot_products(const float *x, const number *c, long s, long n, float *sums) {
    const float *even = x, *odd = x + (n + 1) / 2;
    floats total[OUTPUTS] = {0};
    for (long i = 0; i + 32 <= n; i += 32) {
        const floats e = *(const floats *)(even + i / 2), o = *(const floats *)(odd + i / 2);
        for (long k = 0; k < OUTPUTS; k++) {
            const pairs w = *(const pairs *)(c + i + k * s);
            total[k] += e * (floats)(w << 16);
            total[k] += o * (floats)(w & 0xFFFF0000u);
        }
    }
    for (long k = 0; k < OUTPUTS; k++) {
        sums[k] = sum_of(total[k]);
        for (long i = n / 32 * 32; i < n; i++)
            sums[k] += x[PLACE(i, n)] * wide(c[i + k * s]);
    }
}
#else
#define PLACE(i, n) (i)

static void dot_products(const float *x, const number *c, long s, long n, float *sums) {
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    #pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (long i = 0; i < n; i++) {
        s0 += x[i] * c[i];
        s1 += x[i] * c[i + s];
        s2 += x[i] * c[i + 2 * s];
        s3 += x[i] * c[i + 3 * s];
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}
#endif

// Inputs x (count, n_in) of a product and its outputs y (count, n_out), each a row of its own.
typedef struct {
    const float *x;
    float *y;
    long count, x_stride, y_stride;
} Vectors;

static void add_dot_products(Vectors v, Matrix w, long from, long to) {
    const long n = w.n_in, s = w.stride;
    float sums[OUTPUTS], split[v.count * n];
    for (long r = 0; r < v.count; r++)
        for (long i = 0; i < n; i++) split[r * n + PLACE(i, n)] = v.x[r * v.x_stride + i];
    long j = from;
    for (; j + OUTPUTS <= to; j += OUTPUTS)
        for (long r = 0; r < v.count; r++) {
            dot_products(split + r * n, w.data + j * s, s, n, sums);
            for (long k = 0; k < OUTPUTS; k++) v.y[r * v.y_stride + j + k] += sums[k];
        }
    for (; j < to; j++)
        for (long r = 0; r < v.count; r++) {
            const number *c = w.data + j * s;
            float sum = 0;
            for (long i = 0; i < n; i++) sum += v.x[r * v.x_stride + i] * wide(c[i]);
            v.y[r * v.y_stride + j] += sum;
        }
}

// y[from <= j < to] += x[i] w[i, j] for eight rows i of w, s numbers apart.
static inline void add_rows(
    const float *x, const number *w, long s, long from, long to, float *restrict y
) {
    const float a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5], g = x[6], h = x[7];
    #pragma omp simd
    for (long j = from; j < to; j++)
        y[j] += a * wide(w[j]) + b * wide(w[j + s]) + c * wide(w[j + 2 * s])
              + d * wide(w[j + 3 * s]) + e * wide(w[j + 4 * s]) + f * wide(w[j + 5 * s])
              + g * wide(w[j + 6 * s]) + h * wide(w[j + 7 * s]);
}

static inline void add_row(float x, const number *w, long from, long to, float *restrict y) {
    #pragma omp simd
    for (long j = from; j < to; j++) y[j] += x * wide(w[j]);
}

// y[j] += sum_i x[i] w[i, j] for outputs from <= j < to. What was read of w serves all vectors while
// it is still in the first cache.
static void add_product(Vectors v, Matrix w, long from, long to) {
    if (!w.rows_first) {
        add_dot_products(v, w, from, to);
        return;
    }
    for (long start = from; start < to; start += COLUMNS) {
        const long end = start + COLUMNS < to ? start + COLUMNS : to;
        long i = 0;
        for (; i + 8 <= w.n_in; i += 8)
            for (long r = 0; r < v.count; r++)
                add_rows(v.x + r * v.x_stride + i, w.data + i * w.stride, w.stride, start, end,
                         v.y + r * v.y_stride);
        for (; i < w.n_in; i++)
            for (long r = 0; r < v.count; r++)
                add_row(v.x[r * v.x_stride + i], w.data + i * w.stride, start, end,
                        v.y + r * v.y_stride);
    }
}

// Of one vector: y = x @ w, or y += x @ w.
static void multiply(const float *x, Matrix w, long from, long to, float *y, int add) {
    if (!add) memset(y + from, 0, sizeof(float) * (to - from));
    add_product((Vectors){x, y, 1, 0, 0}, w, from, to);
}

// This thread's share of n things, from `from` to what is returned; whole cache lines.
static long share(long n, long *from) {
    const long threads = omp_get_num_threads(), me = omp_get_thread_num();
    const long each = (n / threads + 31) / 32 * 32;
    *from = me * each < n ? me * each : n;
    return me == threads - 1 || *from + each > n ? n : *from + each;
}

// e^x in seven digits, in arithmetic that a compiler can do for many numbers at once.
static inline float exponential(float x) {
    x = x < -87 ? -87 : x > 88 ? 88 : x;
    const float n = floorf(x * 1.44269504f + 0.5f);
    const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    union { int32_t bits; float value; } power = {((int32_t)n + 127) << 23};
    return (p * r * r + r + 1) * power.value;
}

static void norm(const Model *m, const number *weight, float *restrict h) {
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (long i = 0; i < m->d_model; i++) sum += m->x[i] * m->x[i];
    const float scale = 1 / sqrtf(sum / m->d_model + m->norm_eps);
    for (long i = 0; i < m->d_model; i++) h[i] = m->x[i] * scale * wide(weight[i]);
}

static void rotate(float *heads, long n, long head_dim, const float *rotation) {
    for (long head = 0; head < n; head++, heads += head_dim)
        for (long i = 0; i < head_dim; i += 2) {
            const float even = heads[i], odd = heads[i + 1], c = rotation[i], s = rotation[i + 1];
            heads[i] = even * c - odd * s;
            heads[i + 1] = odd * c + even * s;
        }
}

// Turns scores (n,) into weights relative to the largest score so far, which stands behind the d_h
// sums of values, and the sum of weights behind it; what was summed up before is made relative too.
static void weigh(float *scores, long n, float *sums, long dim) {
    float most = sums[dim], total = 0;
    #pragma omp simd reduction(max : most)
    for (long t = 0; t < n; t++) most = scores[t] > most ? scores[t] : most;
    const float before = exponential(sums[dim] - most);
    for (long i = 0; i < dim; i++) sums[i] *= before;
    #pragma omp simd reduction(+ : total)
    for (long t = 0; t < n; t++) total += scores[t] = exponential(scores[t] - most);
    sums[dim] = most;
    sums[dim + 1] = sums[dim + 1] * before + total;
}

// Of each query head over the positions from <= t < to: d_h sums, their largest score and the sum
// of weights relative to it (flash-decoding's split over the keys).
static void attend(
    const Model *m, const number *keys, const float *q, long from, long to, float *part
) {
    const long dim = m->head_dim, group = m->n_heads / m->n_kv_heads;
    const long p = m->position_stride, f = m->feature_stride;
    float scores[group * POSITIONS];
    for (long head = 0; head < m->n_heads; head++) {
        memset(part + head * (dim + 2), 0, sizeof(float) * (dim + 2));
        part[head * (dim + 2) + dim] = -INFINITY;
    }
    for (long g = 0; g < m->n_kv_heads; g++)
        for (long start = from; start < to; start += POSITIONS) {
            const long n = to - start < POSITIONS ? to - start : POSITIONS;
            const number *k = keys + g * m->group_stride + start * p, *v = k + m->value_stride;
            const Matrix k_t = {k, p == 1 ? f : p, p == 1, dim, n};
            const Matrix values = {v, p == 1 ? f : p, p != 1, n, dim};
            float *sums = part + g * group * (dim + 2);
            memset(scores, 0, sizeof scores);
            add_product((Vectors){q + g * group * dim, scores, group, dim, POSITIONS}, k_t, 0, n);
            for (long r = 0; r < group; r++)
                weigh(scores + r * POSITIONS, n, sums + r * (dim + 2), dim);
            add_product((Vectors){scores, sums, group, POSITIONS, dim + 2}, values, 0, dim);
        }
}

// The parts of all threads as one: heads (H, d_h).
static void merge(const Model *m, float *restrict heads) {
    const long dim = m->head_dim, threads = omp_get_num_threads();
    const long size = m->n_heads * (dim + 2);
    for (long head = 0; head < m->n_heads; head++) {
        const float *part = m->partial + head * (dim + 2);
        float most = -INFINITY, total = 0;
        for (long t = 0; t < threads; t++)
            most = part[t * size + dim] > most ? part[t * size + dim] : most;
        memset(heads + head * dim, 0, sizeof(float) * dim);
        for (long t = 0; t < threads; t++) {
            const float *sums = part + t * size, weight = exponential(sums[dim] - most);
            total += weight * sums[dim + 1];
            for (long i = 0; i < dim; i++) heads[head * dim + i] += weight * sums[i];
        }
        for (long i = 0; i < dim; i++) heads[head * dim + i] /= total;
    }
}

static void attention_layer(const Model *m, long layer, long position, const float *rotation) {
    const long dim = m->head_dim, n_q = m->n_heads, n_kv = m->n_kv_heads;
    const Matrix *w = m->matrices + 4 * layer;
    float local[m->d_model > n_q * dim ? m->d_model : n_q * dim], new[2 * n_kv * dim];
    long from, to = share(w[0].n_out, &from);
    norm(m, m->norms[2 * layer], local);
    multiply(local, w[0], from, to, m->qkv, 0);
    #pragma omp barrier
    memcpy(local, m->qkv, sizeof(float) * n_q * dim);
    rotate(local, n_q, dim, rotation);
    for (long i = 0; i < n_q * dim; i++) local[i] /= sqrtf(dim);
    number *keys = m->cache + layer * m->layer_stride;
    to = share(position + 1, &from);
    if (from <= position && position < to) {  // whose positions these are writes the new one
        memcpy(new, m->qkv + n_q * dim, sizeof new);
        rotate(new, n_kv, dim, rotation);
        for (long g = 0; g < n_kv; g++)
            for (long i = 0; i < dim; i++) {
                number *k = keys + g * m->group_stride + position * m->position_stride;
                k[i * m->feature_stride] = narrow(new[g * dim + i]);
                k[i * m->feature_stride + m->value_stride] = narrow(new[(n_kv + g) * dim + i]);
            }
    }
    attend(m, keys, local, from, to, m->partial + omp_get_thread_num() * n_q * (dim + 2));
    #pragma omp barrier
    merge(m, local);
    to = share(m->d_model, &from);
    multiply(local, w[1], from, to, m->x, 1);
    #pragma omp barrier
}

static void mlp_layer(const Model *m, long layer) {
    const Matrix *w = m->matrices + 4 * layer;
    float h[m->d_model], *gate = m->hidden, *up = m->hidden + m->d_ff;
    long from, to = share(m->d_ff, &from);
    norm(m, m->norms[2 * layer + 1], h);
    multiply(h, w[2], from, to, m->hidden, 0);
    multiply(h, w[2], m->d_ff + from, m->d_ff + to, m->hidden, 0);
    #pragma omp simd
    for (long i = from; i < to; i++) gate[i] = gate[i] / (1 + exponential(-gate[i])) * up[i];
    #pragma omp barrier
    to = share(m->d_model, &from);
    multiply(gate, w[3], from, to, m->x, 1);
    #pragma omp barrier
}

// One token at `position`: its key and value join the cache, logits (V,) are written.
void step(const Model *m, long token, long position, const float *rotation, number *logits) {
    #pragma omp parallel num_threads(m->n_threads)
    {
        const Matrix lm_head = m->matrices[4 * m->n_layers];
        float h[m->d_model];
        long from, to = share(m->d_model, &from);
        for (long i = from; i < to; i++) m->x[i] = wide(m->embedding[token * m->d_model + i]);
        #pragma omp barrier
        for (long layer = 0; layer < m->n_layers; layer++) {
            attention_layer(m, layer, position, rotation);
            mlp_layer(m, layer);
        }
        norm(m, m->norms[2 * m->n_layers], h);
        to = share(lm_head.n_out, &from);
        multiply(h, lm_head, from, to, m->wide_logits, 0);
        for (long i = from; i < to; i++) logits[i] = narrow(m->wide_logits[i]);
    }
}
