/* The pose head on the CPU: moments, Kabsch, refinements, translations, and all their gradients; and
 * robust fits.
 *
 * The mathematics is that of moments.py, spread.py, rotation.py, refinement.py and robust.py, in the
 * same order and under the same names; those files explain it and remain the reference. Here the points are
 * read once forward, and read and written once backward, with a few hundred operations a cloud in
 * between.
 *
 * REAL is float or double, set by the compiler's command line. Sums over points are in double; the
 * 3x3 work of a cloud is in REAL, because its rounding is what the paper's layer amplifies. Moments
 * are multiplied by a power of two that makes them about 1, so that none of it overflows.
 *
 * Clouds are summed in blocks of fixed size which are then merged in order, so no result depends on
 * the number of threads. NaN and inf must be kept: do not compile with -ffast-math.
 *
 * This is C11. GCC's and clang's vectors are used where there are some, and POSIX threads.
 */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#include <pthread.h>
#define EXPORT
#endif

#ifndef REAL
#define REAL float
#endif

#define EPS (sizeof(REAL) == sizeof(float) ? (REAL)FLT_EPSILON : (REAL)DBL_EPSILON)
#define LARGEST (sizeof(REAL) == sizeof(float) ? 1e34 : 1e150) /* see head.py */
#define TINY (sizeof(REAL) == sizeof(float) ? (REAL)FLT_MIN : (REAL)DBL_MIN)
#define SQRT(x) (sizeof(REAL) == sizeof(float) ? (REAL)sqrtf((float)(x)) : (REAL)sqrt((double)(x)))
#define BLOCK 256       /* points; two blocks' worth of doubles fit a first-level cache */
#define SHARE 16384     /* fewer points than this are not worth a thread */
#define CLOUD 512       /* the 3x3 work of a cloud takes as long as this many points */
#define MAX_THREADS 64

/* Sums that vectorise although their order is fixed: each lane is a sum of its own. */
#if defined(__GNUC__) && !defined(NO_VECTORS)
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), may_alias));
typedef REAL reals __attribute__((vector_size(LANES * sizeof(double)), may_alias));
#define LANE(vector, i) (vector)[i]
#define ZERO {0}
#else
#define LANES 1
typedef double lanes;
typedef REAL reals;
#define LANE(vector, i) (vector)
#define ZERO 0
#endif
#define REALS (int)(sizeof(reals) / sizeof(REAL))
#define MAYBE(pointer, offset) ((pointer) ? (pointer) + (offset) : NULL)
#define AT(array, i) (*(lanes *)&(array)[i])
#define REALS_AT(array, i) (*(reals *)&(array)[i])

enum start { GIVEN, KABSCH, DETACHED, PERTURBED };

/* One call. Optional pointers are NULL where there is nothing, or nothing is wanted. */
struct call {
    int64_t clouds, points, starts, iterations, rounds;
    int32_t target_form, start_kind, threads, loss, estimate;
    double cutoff;                       /* of a robust loss, in standard deviations of the noise */
    const REAL *source, *target;         /* (clouds, points, 3) */
    const REAL *weights;                 /* (clouds, points), optional */
    const uint8_t *mask;                 /* (clouds, points), optional */
    const int64_t *offsets;              /* (clouds + 1,), optional: see `begin_of` */
    const REAL *start;                   /* (clouds, starts, 3, 3), GIVEN or the turns PERTURBED */
    REAL *rotation, *translation;        /* (clouds, poses, 3, 3) and (clouds, poses, 3) */
    struct state *state;                 /* (clouds,) */
    /* Backward only: gradients in, each optional, and out, each optional. */
    const REAL *g_rotation, *g_translation;
    REAL *d_source, *d_target, *d_weights, *d_start;
    /* (clouds,), optional: the scale of a similarity, and in backward its gradient, optional. */
    REAL *factor;
    const REAL *g_factor;
    /* Robust fits alone: the pose they start from, (clouds, 13) with R, t and scale, optional; the
     * noise (clouds,), written if `estimate`; and the factor of each match, (clouds, points). */
    const REAL *robust_start;
    REAL *noise, *factors;
};

/* The results for a cloud that backward needs; all double, so that Python can allocate a tensor. */
struct state {
    double total, source_mean[3], target_mean[3];
    double spread_of[9]; /* S or G, by form, times scale^2 */
    double cross[9];     /* H, times scale^2 */
    double inverse[9];   /* P, the inverse of spread(S or G) */
    double scale;        /* a power of two: 1 / scale is about the size of the cloud */
};

/* ---- 3-vectors and 3x3 matrices, by rows -------------------------------------------------- */

static inline REAL dot(const REAL *a, const REAL *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void cross(const REAL *a, const REAL *b, REAL *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void matvec(const REAL *A, const REAL *v, REAL *out)
{
    for (int i = 0; i < 3; i++) out[i] = dot(A + 3 * i, v);
}

static inline void matvec_t(const REAL *A, const REAL *v, REAL *out)
{
    for (int i = 0; i < 3; i++) out[i] = A[i] * v[0] + A[3 + i] * v[1] + A[6 + i] * v[2];
}

static inline void transpose(const REAL *A, REAL *out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = A[3 * j + i];
}

static inline void matmul(const REAL *A, const REAL *B, REAL *out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

static inline void matmul_t(const REAL *A, const REAL *B, REAL *out) /* A^T B */
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

static inline void torque(const REAL *R, const REAL *A, REAL *out) /* vee(R^T A) */
{
    REAL row[3];
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < 3; i++) {
        cross(A + 3 * i, R + 3 * i, row);
        for (int j = 0; j < 3; j++) out[j] += row[j];
    }
}

static inline void turned(const REAL *R, const REAL *v, REAL *out) /* R hat(v) */
{
    for (int i = 0; i < 3; i++) cross(R + 3 * i, v, out + 3 * i);
}

static inline REAL trace(const REAL *A) { return A[0] + A[4] + A[8]; }

static inline void spread(const REAL *X, REAL *out) /* tr(X) I - X */
{
    REAL t = trace(X);
    for (int i = 0; i < 9; i++) out[i] = (i % 4 == 0 ? t : 0) - X[i];
}

static inline int finite9(const REAL *A)
{
    REAL zero = 0;
    for (int i = 0; i < 9; i++) zero += A[i] - A[i];
    return zero == 0; /* NaN is not */
}

static inline void narrow(const double *from, REAL *to, int n)
{
    for (int i = 0; i < n; i++) to[i] = (REAL)from[i];
}

/* ---- spread.py ---------------------------------------------------------------------------- */

static void spread_inverse(const REAL *moment, REAL *out)
{
    const REAL small = 16 * EPS;
    REAL size = trace(moment), X[9], adjugate[9], numerator[9];
    if (size < TINY / small) { /* a point; NaN stays NaN */
        memset(out, 0, 9 * sizeof(REAL));
        return;
    }
    for (int i = 0; i < 9; i++) X[i] = moment[i] / size;
    for (int i = 0; i < 3; i++) { /* X is symmetric: its rows are its columns */
        cross(X + 3 * ((i + 1) % 3), X + 3 * ((i + 2) % 3), adjugate + 3 * i);
    }
    for (int i = 0; i < 9; i++) numerator[i] = X[i] + adjugate[i];
    REAL denominator = trace(adjugate) - dot(X, adjugate);
    REAL minors = trace(numerator);
    if (denominator > small * minors) {
        for (int i = 0; i < 9; i++) out[i] = numerator[i] / denominator / size;
        return;
    }
    REAL M[9];
    spread(X, M);
    REAL whole = trace(M);
    for (int i = 0; i < 9; i++) {
        REAL value = 0;
        if (whole > 0) {
            value = M[i] / (whole * whole);
            if (minors > small) {
                REAL eye = i % 4 == 0;
                value = (whole * (eye - numerator[i] / minors) - M[i]) / minors;
            }
        }
        out[i] = value / size; /* NaN / NaN stays NaN */
    }
}

/* ---- rotation.py -------------------------------------------------------------------------- */

/* Eigenvalues and eigenvectors (columns of V) of a symmetric 4x4 matrix, by Jacobi's rotations. */
static void jacobi4(double A[4][4], double V[4][4])
{
    memset(V, 0, 16 * sizeof(double));
    for (int i = 0; i < 4; i++) V[i][i] = 1;
    for (int sweep = 0; sweep < 16; sweep++) {
        double off = 0, on = 0;
        for (int p = 0; p < 4; p++) {
            on += A[p][p] * A[p][p];
            for (int q = p + 1; q < 4; q++) off += A[p][q] * A[p][q];
        }
        if (!(off > 1e-36 * on)) return;
        for (int p = 0; p < 3; p++) {
            for (int q = p + 1; q < 4; q++) {
                if (A[p][q] == 0) continue;
                double gap = (A[q][q] - A[p][p]) / 2, b = A[p][q];
                double r = sqrt(gap * gap + b * b);
                double t = gap >= 0 ? b / (gap + r) : b / (gap - r);
                double c = 1 / sqrt(t * t + 1), s = t * c;
                A[p][p] -= t * b;
                A[q][q] += t * b;
                A[p][q] = A[q][p] = 0;
                for (int k = 0; k < 4; k++) {
                    double vp = V[k][p], vq = V[k][q];
                    V[k][p] = c * vp - s * vq;
                    V[k][q] = s * vp + c * vq;
                    if (k == p || k == q) continue;
                    double ap = A[k][p], aq = A[k][q];
                    A[k][p] = A[p][k] = c * ap - s * aq;
                    A[k][q] = A[q][k] = s * ap + c * aq;
                }
            }
        }
    }
}

/* The rotation that maximises tr(R^T H). For the rotation of a unit quaternion q this is q^T N q
 * (Horn, 1987), linear in H and thus without a square of its condition: the best rotation is the
 * top eigenvector of N. The gap below it is 2 (s2 + d s3), zero exactly where the best rotation is
 * not unique; then the best ones fill an eigenspace, and the projection of (1, 0, 0, 0) onto it is
 * the one that turns least.
 */
static void nearest_rotation(const REAL *H, REAL *R)
{
    double size = 0, zero = 0, h[9], A[4][4], V[4][4];
    for (int i = 0; i < 9; i++) {
        double entry = fabs((double)H[i]);
        zero += entry - entry;
        if (entry > size) size = entry;
    }
    if (zero != 0 || size == 0) { /* NaN or inf in the cloud; or nothing at all */
        for (int i = 0; i < 9; i++) R[i] = (REAL)(zero + (i % 4 == 0));
        return;
    }
    for (int i = 0; i < 9; i++) h[i] = H[i] / size;
    A[0][0] = h[0] + h[4] + h[8];
    A[1][1] = h[0] - h[4] - h[8];
    A[2][2] = h[4] - h[0] - h[8];
    A[3][3] = h[8] - h[0] - h[4];
    A[0][1] = A[1][0] = h[7] - h[5];
    A[0][2] = A[2][0] = h[2] - h[6];
    A[0][3] = A[3][0] = h[3] - h[1];
    A[1][2] = A[2][1] = h[1] + h[3];
    A[1][3] = A[3][1] = h[2] + h[6];
    A[2][3] = A[3][2] = h[5] + h[7];
    jacobi4(A, V);
    int top = 0;
    for (int i = 1; i < 4; i++)
        if (A[i][i] > A[top][top]) top = i;
    double q[4] = {V[0][top], V[1][top], V[2][top], V[3][top]};
    const double tie = A[top][top] * (1 - 16 * (double)EPS);
    for (int i = 0; i < 4; i++) {
        if (i == top || A[i][i] < tie) continue;
        double along = V[0][top], other = V[0][i], norm = hypot(along, other);
        if (norm == 0) continue; /* all of them turn by 180 degrees: any will do */
        /* Turn the two, so that `top` takes all that both have of the identity. */
        for (int k = 0; k < 4; k++) {
            double a = V[k][top], b = V[k][i];
            q[k] = V[k][top] = (along * a + other * b) / norm;
            V[k][i] = (along * b - other * a) / norm;
        }
    }
    double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    double w = q[0] / norm, x = q[1] / norm, y = q[2] / norm, z = q[3] / norm;
    R[0] = (REAL)(1 - 2 * (y * y + z * z));
    R[1] = (REAL)(2 * (x * y - w * z));
    R[2] = (REAL)(2 * (x * z + w * y));
    R[3] = (REAL)(2 * (x * y + w * z));
    R[4] = (REAL)(1 - 2 * (x * x + z * z));
    R[5] = (REAL)(2 * (y * z - w * x));
    R[6] = (REAL)(2 * (x * z - w * y));
    R[7] = (REAL)(2 * (y * z + w * x));
    R[8] = (REAL)(1 - 2 * (x * x + y * y));
}

/* How the best rotation follows a change of H, which is also how its gradient goes back to H. */
static void turn(const REAL *R, const REAL *H, const REAL *change, REAL *out)
{
    REAL K[9], symmetric[9], inverse[9], ask[3], u[3];
    matmul_t(R, H, K);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) symmetric[3 * i + j] = (K[3 * i + j] + K[3 * j + i]) / 2;
    spread_inverse(symmetric, inverse);
    torque(R, change, ask);
    matvec(inverse, ask, u);
    turned(R, u, out);
}

/* ---- refinement.py ------------------------------------------------------------------------ */

/* Divide by the length. A long vector is first made shorter, because its square is no REAL: where
 * one cloud is 1e19 times as large as the other, a step is that long. */
static void to_unit(REAL *x)
{
    const REAL most = sizeof(REAL) == sizeof(float) ? (REAL)0x1p60 : (REAL)0x1p500;
    if (fabs((double)x[0]) > most || fabs((double)x[1]) > most || fabs((double)x[2]) > most)
        for (int i = 0; i < 3; i++) x[i] /= most;
    REAL length = (REAL)sqrt((double)dot(x, x));
    for (int i = 0; i < 3; i++) x[i] /= length;
}

static void gram_schmidt(const REAL *A, REAL *R)
{
    REAL x[3] = {A[0], A[3], A[6]}, second[3] = {A[1], A[4], A[7]}, y[3], z[3];
    to_unit(x);
    cross(x, second, z);
    to_unit(z);
    cross(z, x, y);
    for (int i = 0; i < 3; i++) R[3 * i] = x[i], R[3 * i + 1] = y[i], R[3 * i + 2] = z[i];
}

static void step(const REAL *H, const REAL *P, const REAL *R, int target_form, REAL *next)
{
    REAL v[3], u[3], moved[9], Rt[9], Ht[9];
    if (target_form) { /* the clouds exchange their roles: R^T maps target to source */
        transpose(R, Rt);
        transpose(H, Ht);
        R = Rt, H = Ht;
    }
    torque(R, H, v);
    matvec(P, v, u);
    turned(R, u, moved);
    for (int i = 0; i < 9; i++) moved[i] += R[i];
    if (target_form) {
        transpose(moved, Rt);
        gram_schmidt(Rt, next);
    } else {
        gram_schmidt(moved, next);
    }
}

/* T^T pull, with T the derivative of the assembler at u, whose rows are not written out. */
static void assembler_pull(const REAL *u, const REAL *Q, const REAL *pull, REAL *at_u)
{
    REAL n1 = Q[0] + Q[3] * u[2] - Q[6] * u[1];
    REAL m = Q[3] - Q[0] * u[2] + Q[6] * u[0];
    REAL n2 = Q[4] - Q[1] * u[2] + Q[7] * u[0];
    REAL first = pull[0] / n2, second = (pull[1] + m * first) / n1, third = pull[2] / n1;
    at_u[0] = Q[8] * first;
    at_u[1] = Q[8] * second - Q[7] * third;
    at_u[2] = Q[4] * third - Q[2] * first - Q[5] * second;
}

/* One link of the chain, backwards: `pull` at R' becomes `pull` at R, and adds to d_H and d_P. */
static void unstep(const REAL *H, const REAL *P, const REAL *R, const REAL *next, int target_form,
                   REAL *pull, REAL *d_H, REAL *d_P)
{
    REAL Q[9], v[3], u[3], at_u[3], at_v[3], frame_v[3], frame_at_u[3], solved[3], moved[9];
    torque(R, H, v);
    matmul_t(R, next, Q);
    if (target_form) { /* P is at home in the target's frame */
        matvec(R, v, frame_v);
        matvec(P, frame_v, solved);
        matvec_t(R, solved, u);
        assembler_pull(u, Q, pull, at_u);
        matvec(R, at_u, frame_at_u);
        matvec(P, frame_at_u, solved);
        matvec_t(R, solved, at_v);
    } else {
        matvec(P, v, u);
        assembler_pull(u, Q, pull, at_u);
        matvec(P, at_u, at_v);
        memcpy(frame_v, v, sizeof v);
        memcpy(frame_at_u, at_u, sizeof at_u);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) d_P[3 * i + j] += frame_at_u[i] * frame_v[j];
    turned(R, at_v, moved);
    for (int i = 0; i < 9; i++) d_H[i] += moved[i];

    /* J^T pull = Q pull + follow^T at_u; in it, spread(K)^T at_v = tr(K) at_v - H^T R at_v. */
    REAL before[3], along[3], held[3];
    REAL trace = dot(R, H) + dot(R + 3, H + 3) + dot(R + 6, H + 6);
    matvec(Q, pull, before);
    matvec(R, at_v, along);
    matvec_t(H, along, held);
    for (int i = 0; i < 3; i++) pull[i] = before[i] - trace * at_v[i] + held[i];
    if (target_form) {
        REAL a[3], b[3];
        cross(at_u, u, a);
        cross(at_v, v, b);
        for (int i = 0; i < 3; i++) pull[i] += a[i] - b[i];
    }
}

/* ---- moments.py: a block of points in, and blocks merged ---------------------------------- */

struct block {
    _Alignas(64) double w[BLOCK];
    double s[3][BLOCK], t[3][BLOCK];
};

/* Of a block or of a whole cloud; moments not yet divided by the total. */
struct sums {
    double total, source_mean[3], target_mean[3], spread_of[6], cross[9];
};

static const int ROW[6] = {0, 0, 0, 1, 1, 2}, COLUMN[6] = {0, 1, 2, 1, 2, 2};

/* Points less their origin, as rows, times a factor; the difference is taken in double. */
#define DEFINE_LESS(name, type)                                                                    \
    static void name(const REAL *restrict points, int n, const double *origin,                     \
                     type factor, type (*restrict out)[BLOCK])                                     \
    {                                                                                              \
        double x = origin[0], y = origin[1], z = origin[2];                                        \
        type *restrict a = out[0], *restrict b = out[1], *restrict c = out[2];                     \
        for (int i = 0; i < n; i++) {                                                              \
            a[i] = (type)((double)points[3 * i] - x) * factor;                                     \
            b[i] = (type)((double)points[3 * i + 1] - y) * factor;                                 \
            c[i] = (type)((double)points[3 * i + 2] - z) * factor;                                 \
        }                                                                                          \
    }
DEFINE_LESS(less, double)
DEFINE_LESS(less_narrow, REAL)

static double total_of(lanes v)
{
    double sum = LANE(v, 0);
    for (int i = 1; i < LANES; i++) sum += LANE(v, i);
    return sum;
}

static void load(struct block *b, const struct call *c, int64_t first, int n,
                 const double *source_origin, const double *target_origin)
{
    less(c->source + 3 * first, n, source_origin, 1, b->s);
    less(c->target + 3 * first, n, target_origin, 1, b->t);
    for (int i = 0; i < n; i++) b->w[i] = c->weights ? (double)c->weights[first + i] : 1.0;
    if (c->mask) /* selected, not multiplied: padding may hold NaN */
        for (int i = 0; i < n; i++)
            if (!c->mask[first + i]) {
                b->w[i] = 0;
                for (int k = 0; k < 3; k++) b->s[k][i] = b->t[k][i] = 0;
            }
    for (int i = n; i % LANES; i++) { /* points without weight, to fill the lanes */
        b->w[i] = 0;
        for (int k = 0; k < 3; k++) b->s[k][i] = b->t[k][i] = 0;
    }
}

static void sum_block(const struct call *c, int64_t first, int n, struct sums *out)
{
    struct block b;
    int kept = 0;
    memset(out, 0, sizeof *out);
    while (c->mask && kept < n && !c->mask[first + kept]) kept++;
    if (kept == n) return;
    /* About a point of its own, so that coinciding points are exactly 0 apart. */
    double origin[6], mean[6];
    for (int k = 0; k < 3; k++) {
        origin[k] = (double)c->source[3 * (first + kept) + k];
        origin[3 + k] = (double)c->target[3 * (first + kept) + k];
    }
    load(&b, c, first, n, origin, origin + 3);
    lanes w = {0}, a[6] = {ZERO};
    for (int i = 0; i < n; i += LANES) {
        lanes weight = AT(b.w, i);
        w += weight;
        for (int k = 0; k < 3; k++) {
            a[k] += weight * AT(b.s[k], i);
            a[3 + k] += weight * AT(b.t[k], i);
        }
    }
    out->total = total_of(w);
    double divisor = out->total == 0 ? 1 : out->total;
    for (int k = 0; k < 6; k++) mean[k] = total_of(a[k]) / divisor;
    for (int k = 0; k < 3; k++) {
        out->source_mean[k] = origin[k] + mean[k];
        out->target_mean[k] = origin[3 + k] + mean[3 + k];
    }
    lanes X[6] = {ZERO}, H[9] = {ZERO};
    double (*spread_of)[BLOCK] = c->target_form ? b.t : b.s;
    const double *middle = c->target_form ? mean + 3 : mean;
    if (c->iterations || c->factor)
        for (int i = 0; i < n; i += LANES) {
            lanes p[3], weighted[3];
            for (int k = 0; k < 3; k++) {
                p[k] = AT(spread_of[k], i) - middle[k];
                weighted[k] = AT(b.w, i) * p[k];
            }
            for (int k = 0; k < 6; k++) X[k] += weighted[ROW[k]] * p[COLUMN[k]];
        }
    for (int i = 0; i < n; i += LANES) {
        lanes s[3];
        for (int k = 0; k < 3; k++) s[k] = AT(b.w, i) * (AT(b.s[k], i) - mean[k]);
        for (int k = 0; k < 3; k++) {
            lanes t = AT(b.t[k], i) - mean[3 + k];
            for (int j = 0; j < 3; j++) H[3 * k + j] += t * s[j];
        }
    }
    for (int k = 0; k < 6; k++) out->spread_of[k] = total_of(X[k]);
    for (int k = 0; k < 9; k++) out->cross[k] = total_of(H[k]);
}

/* Add the sums of further points (Chan, Golub and LeVeque, 1979). */
static void merge(struct sums *sum, const struct sums *more, int target_form)
{
    for (int k = 0; k < 6; k++) sum->spread_of[k] += more->spread_of[k];
    for (int k = 0; k < 9; k++) sum->cross[k] += more->cross[k];
    if (more->total == 0) return;
    double total = sum->total + more->total, share = more->total / total, s[3], t[3];
    double both = sum->total * share;
    for (int k = 0; k < 3; k++) {
        s[k] = more->source_mean[k] - sum->source_mean[k];
        t[k] = more->target_mean[k] - sum->target_mean[k];
        sum->source_mean[k] += share * s[k];
        sum->target_mean[k] += share * t[k];
    }
    const double *p = target_form ? t : s;
    for (int k = 0; k < 6; k++) sum->spread_of[k] += both * p[ROW[k]] * p[COLUMN[k]];
    for (int k = 0; k < 9; k++) sum->cross[k] += both * t[k / 3] * s[k % 3];
    sum->total = total;
}

/* ---- A cloud, forward ---------------------------------------------------------------------- */

/* Where a cloud's points begin among all points. Packed clouds have offsets, and their own sizes;
 * `points` is then the number of all. */
static int64_t begin_of(const struct call *c, int64_t cloud)
{
    return c->offsets ? c->offsets[cloud] : cloud * c->points;
}

/* Where a cloud's blocks begin among all blocks. A packed cloud has one more than it may need, so
 * that this is known without counting those before it; blocks without points change nothing. */
static int64_t first_block(const struct call *c, int64_t cloud)
{
    if (c->offsets) return c->offsets[cloud] / BLOCK + cloud;
    return cloud * ((c->points + BLOCK - 1) / BLOCK);
}

/* The cloud that a block belongs to. */
static int64_t cloud_of(const struct call *c, int64_t block)
{
    if (!c->offsets) return block / first_block(c, 1);
    int64_t cloud = 0, above = c->clouds;
    while (above - cloud > 1) {
        int64_t middle = cloud + (above - cloud) / 2;
        if (first_block(c, middle) <= block)
            cloud = middle;
        else
            above = middle;
    }
    return cloud;
}

/* Where a cloud's poses begin: Kabsch's, unless GIVEN, then the refined ones by iteration. */
static int64_t first_pose(const struct call *c, int64_t cloud)
{
    return cloud * ((c->start_kind != GIVEN) + c->iterations * c->starts);
}

/* Where a refined pose stands. */
static int64_t pose_at(const struct call *c, int64_t cloud, int64_t iteration, int64_t start)
{
    return first_pose(c, cloud) + (c->start_kind != GIVEN) + iteration * c->starts + start;
}

/* The scale of a similarity, tr(R^T H) / tr(S), at least 0; 1 for a source without extent. */
static REAL best_factor(const REAL *R, const REAL *H, const REAL *S)
{
    REAL extent = S[0] + S[4] + S[8], along = 0;
    for (int k = 0; k < 9; k++) along += R[k] * H[k];
    return extent == 0 ? 1 + (along - along) : along < 0 ? 0 : along / extent; /* NaN stays NaN */
}

/* The paper's translation estimator, mean(target) - factor R mean(source). */
static void best_translation(const struct state *state, double factor, const REAL *R, REAL *out)
{
    for (int i = 0; i < 3; i++) {
        double moved = 0;
        for (int j = 0; j < 3; j++) moved += R[3 * i + j] * state->source_mean[j];
        out[i] = (REAL)(state->target_mean[i] - factor * moved);
    }
}

/* The power of two that makes moments of this size about 1; 1 for points that coincide, and NaN for
 * a cloud that is too large. */
static double scale_of(const struct sums *sum, double divisor)
{
    double size = 0, mean = 0;
    int exponent;
    for (int k = 0; k < 9; k++) size = fmax(size, fabs(sum->cross[k]));
    for (int k = 0; k < 6; k++) size = fmax(size, fabs(sum->spread_of[k]));
    for (int k = 0; k < 3; k++)
        mean = fmax(mean, fmax(fabs(sum->source_mean[k]), fabs(sum->target_mean[k])));
    size /= divisor;
    if (mean > LARGEST || size > LARGEST * LARGEST) return NAN;
    if (!(size > 0)) return 1; /* NaN stays NaN */
    frexp(size, &exponent);
    return ldexp(1, -(exponent / 2));
}

static void fit(const struct call *c, int64_t cloud, const struct sums *parts)
{
    struct state *state = c->state + cloud;
    struct sums sum;
    memset(&sum, 0, sizeof sum);
    for (int64_t i = first_block(c, cloud); i < first_block(c, cloud + 1); i++)
        merge(&sum, parts + i, c->target_form);
    double divisor = sum.total == 0 ? 1 : sum.total;
    double scale = scale_of(&sum, divisor);
    REAL X[9], H[9], P[9], first[9], *R = first;
    for (int k = 0; k < 6; k++)
        X[3 * ROW[k] + COLUMN[k]] = X[3 * COLUMN[k] + ROW[k]] =
            (REAL)(sum.spread_of[k] / divisor * scale * scale);
    for (int k = 0; k < 9; k++) H[k] = (REAL)(sum.cross[k] / divisor * scale * scale);
    spread_inverse(X, P);
    state->total = sum.total;
    state->scale = scale;
    memcpy(state->source_mean, sum.source_mean, sizeof sum.source_mean);
    memcpy(state->target_mean, sum.target_mean, sizeof sum.target_mean);
    for (int k = 0; k < 9; k++)
        state->spread_of[k] = X[k], state->cross[k] = H[k], state->inverse[k] = P[k];

    if (c->start_kind != GIVEN) {
        R = c->rotation + 9 * first_pose(c, cloud);
        nearest_rotation(H, R);
        REAL factor = c->factor ? best_factor(R, H, X) : 1;
        if (c->factor) c->factor[cloud] = factor;
        best_translation(state, factor, R, c->translation + 3 * first_pose(c, cloud));
    }
    for (int64_t k = 0; k < c->starts; k++) {
        const REAL *now = R;
        if (c->start_kind == GIVEN) now = c->start + 9 * (cloud * c->starts + k);
        if (c->start_kind == PERTURBED) {
            matmul(R, c->start + 9 * (cloud * c->starts + k), first);
            now = first;
        }
        for (int64_t i = 0; i < c->iterations; i++) {
            int64_t at = pose_at(c, cloud, i, k);
            step(H, P, now, c->target_form, c->rotation + 9 * at);
            now = c->rotation + 9 * at;
            best_translation(state, 1, now, c->translation + 3 * at);
        }
    }
}

/* ---- A cloud, backward --------------------------------------------------------------------- */

/* With p the points of the cloud whose spread is in use and o the other's, both less their means and
 * times the scale: the gradient is  share (A p + B^T o + at_p)  at p  and  share (B p + at_o)  at o;
 * and that at the points themselves is scale times it. */
struct push {
    int sound;
    REAL A[9], B[9], at_p[3], at_o[3], present, total, scale;
};

/* The gradient at a rotation, its own and what comes through the translation; and at the means. */
static void gather(const struct state *state, REAL factor, const REAL *R, const REAL *g_R,
                   const REAL *g_t, REAL *G, REAL *at_s, REAL *at_t)
{
    for (int i = 0; i < 9; i++) G[i] = g_R ? g_R[i] : 0;
    if (!g_t) return;
    for (int i = 0; i < 3; i++) {
        at_t[i] += g_t[i];
        for (int j = 0; j < 3; j++) {
            G[3 * i + j] -= factor * g_t[i] * (REAL)state->source_mean[j];
            at_s[j] -= factor * R[3 * i + j] * g_t[i];
        }
    }
}

static void unfit(const struct call *c, int64_t cloud, struct push *push)
{
    const struct state *state = c->state + cloud;
    const int64_t kabsch = first_pose(c, cloud);
    const REAL *R = c->start_kind == GIVEN ? NULL : c->rotation + 9 * kabsch;
    const int refined = c->iterations && (c->g_rotation || c->g_translation);
    const REAL factor = c->factor ? c->factor[cloud] : 1;
    REAL X[9], H[9], P[9], G[9], first[9], moved[9];
    REAL d_H[9] = {0}, d_P[9] = {0}, at_R[9] = {0}, at_s[3] = {0}, at_t[3] = {0};
    narrow(state->spread_of, X, 9);
    narrow(state->cross, H, 9);
    narrow(state->inverse, P, 9);
    memset(push, 0, sizeof *push);
    push->sound = finite9(H) && state->total > 0;
    if (R && finite9(R))
        gather(state, factor, R, MAYBE(c->g_rotation, 9 * kabsch),
               MAYBE(c->g_translation, 3 * kabsch), at_R, at_s, at_t);

    for (int64_t k = 0; k < c->starts; k++) {
        const int64_t mine = 9 * (cloud * c->starts + k);
        const REAL *start = c->start_kind == GIVEN ? c->start + mine : R;
        if (c->start_kind == PERTURBED) {
            matmul(R, c->start + mine, first);
            start = first;
        }
        int sound = refined;
        for (int64_t i = 0; sound && i < c->iterations; i++)
            sound = finite9(c->rotation + 9 * pose_at(c, cloud, i, k));
        REAL pull[3] = {0}, own[3], k_H[9] = {0}, k_P[9] = {0}, given = 0;
        for (int64_t i = c->iterations - 1; sound && i >= 0; i--) {
            const int64_t at = pose_at(c, cloud, i, k);
            const REAL *next = c->rotation + 9 * at;
            const REAL *now = i ? next - 9 * c->starts : start;
            gather(state, 1, next, MAYBE(c->g_rotation, 9 * at),
                   MAYBE(c->g_translation, 3 * at), G, at_s, at_t);
            torque(next, G, own);
            for (int j = 0; j < 3; j++) pull[j] += own[j], given += 0 * own[j];
            unstep(H, P, now, next, c->target_form, pull, k_H, k_P);
        }
        /* A chain that overflows has no gradient. (One that is given NaN or inf keeps it.) */
        REAL left_over = 0 * (pull[0] + pull[1] + pull[2]);
        if (given == 0 && !(left_over == 0 && finite9(k_H) && finite9(k_P))) sound = 0;
        for (int i = 0; sound && i < 9; i++) d_H[i] += k_H[i], d_P[i] += k_P[i];
        if (sound) turned(start, pull, moved);
        for (int i = 0; i < 9; i++) {
            REAL at_start = sound ? moved[i] / 2 : 0;
            if (c->d_start) c->d_start[mine + i] = at_start;
            if (c->start_kind == KABSCH) at_R[i] += at_start;
        }
    }
    if (!push->sound) return;
    if (R) {
        turn(R, H, at_R, moved);
        for (int i = 0; i < 9; i++) d_H[i] += moved[i];
    }
    /* P = spread(X)^-1, so the gradient at X is -spread(P d_P P). */
    REAL left[9], both[9], d_X[9] = {0};
    if (refined && finite9(P)) {
        matmul(P, d_P, left);
        matmul(left, P, both);
        spread(both, d_X);
        if (finite9(d_P) && !finite9(d_X)) memset(d_X, 0, sizeof d_X); /* an overflow, too */
        for (int i = 0; i < 9; i++) push->present -= d_X[i] * X[i];
    }
    if (c->factor && X[0] + X[4] + X[8] > 0) {
        /* factor = tr(R^T H) / tr(S). A turn of R leaves it as it is. */
        REAL g = c->g_factor ? c->g_factor[cloud] : 0, along = 0;
        for (int i = 0; i < 9; i++) along += R[i] * H[i];
        for (int i = 0; c->g_translation && i < 3; i++)
            for (int j = 0; j < 3; j++)
                g -= c->g_translation[3 * kabsch + i] * R[3 * i + j] * (REAL)state->source_mean[j];
        g = along < 0 ? 0 : g / (X[0] + X[4] + X[8]);
        for (int i = 0; i < 9; i++) d_H[i] += g * R[i];
        for (int i = 0; i < 9; i += 4) d_X[i] = g * factor, push->present -= d_X[i] * X[i];
    }
    const REAL scale = push->scale = (REAL)state->scale;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            push->A[3 * i + j] = -(d_X[3 * i + j] + d_X[3 * j + i]);
            push->B[3 * i + j] = c->target_form ? d_H[3 * j + i] : d_H[3 * i + j];
            push->present += d_H[3 * i + j] * H[3 * i + j];
        }
        push->at_p[i] = (c->target_form ? at_t[i] : at_s[i]) / scale;
        push->at_o[i] = (c->target_form ? at_s[i] : at_t[i]) / scale;
    }
    push->total = (REAL)state->total;
}

static void interleave(REAL (*restrict from)[BLOCK], int n, REAL *restrict to)
{
    const REAL *restrict a = from[0], *restrict b = from[1], *restrict c = from[2];
    for (int i = 0; i < n; i++) {
        to[3 * i] = a[i];
        to[3 * i + 1] = b[i];
        to[3 * i + 2] = c[i];
    }
}

static void push_block(const struct call *c, int64_t cloud, int64_t first, int n,
                       const struct push *push)
{
    struct {
        _Alignas(64) REAL w[BLOCK];
        REAL s[3][BLOCK], t[3][BLOCK];
    } x, d;
    REAL *d_source = MAYBE(c->d_source, 3 * first), *d_target = MAYBE(c->d_target, 3 * first);
    REAL *d_weights = MAYBE(c->d_weights, first);
    if (!push->sound) {
        if (d_source) memset(d_source, 0, 3 * n * sizeof(REAL));
        if (d_target) memset(d_target, 0, 3 * n * sizeof(REAL));
        if (d_weights) memset(d_weights, 0, n * sizeof(REAL));
        return;
    }
    less_narrow(c->source + 3 * first, n, c->state[cloud].source_mean, push->scale, x.s);
    less_narrow(c->target + 3 * first, n, c->state[cloud].target_mean, push->scale, x.t);
    const REAL share = 1 / push->total, present = push->present;
    const REAL part = share * push->scale;
    for (int i = 0; i < n; i++) x.w[i] = c->weights ? c->weights[first + i] * part : part;
    for (int i = n; i % REALS; i++) {
        x.w[i] = 0;
        for (int k = 0; k < 3; k++) x.s[k][i] = x.t[k][i] = 0;
    }
    REAL (*p)[BLOCK] = c->target_form ? x.t : x.s, (*o)[BLOCK] = c->target_form ? x.s : x.t;
    REAL (*d_p)[BLOCK] = c->target_form ? d.t : d.s, (*d_o)[BLOCK] = c->target_form ? d.s : d.t;
    REAL A[9], B[9], at_p[3], at_o[3];
    memcpy(A, push->A, sizeof A);
    memcpy(B, push->B, sizeof B);
    memcpy(at_p, push->at_p, sizeof at_p);
    memcpy(at_o, push->at_o, sizeof at_o);
    for (int i = 0; i < n; i += REALS) {
        reals px = REALS_AT(p[0], i), py = REALS_AT(p[1], i), pz = REALS_AT(p[2], i), own = {0};
        reals ox = REALS_AT(o[0], i), oy = REALS_AT(o[1], i), oz = REALS_AT(o[2], i);
        reals w = REALS_AT(x.w, i);
        for (int k = 0; k < 3; k++) {
            reals a = A[3 * k] * px + A[3 * k + 1] * py + A[3 * k + 2] * pz;
            reals b = B[3 * k] * px + B[3 * k + 1] * py + B[3 * k + 2] * pz + at_o[k];
            own += REALS_AT(p[k], i) * (a / 2 + at_p[k]) + REALS_AT(o[k], i) * b;
            REALS_AT(d_p[k], i) = w * (a + B[k] * ox + B[3 + k] * oy + B[6 + k] * oz + at_p[k]);
            REALS_AT(d_o[k], i) = w * b;
        }
        /* More weight on a point pulls each moment from its present value to the point's own. */
        REALS_AT(d.w, i) = share * (own - present);
    }
    if (d_source) interleave(d.s, n, d_source);
    if (d_target) interleave(d.t, n, d_target);
    if (d_weights) memcpy(d_weights, d.w, n * sizeof(REAL));
    for (int i = 0; c->mask && i < n; i++) {
        if (c->mask[first + i]) continue;
        for (int k = 0; k < 3; k++) {
            if (d_source) d_source[3 * i + k] = 0;
            if (d_target) d_target[3 * i + k] = 0;
        }
        if (d_weights) d_weights[i] = 0;
    }
}

/* Where a block of a cloud begins among all points, and how many it has. */
static int64_t block_at(const struct call *c, int64_t cloud, int64_t block, int *n)
{
    int64_t first = begin_of(c, cloud) + (block - first_block(c, cloud)) * BLOCK;
    int64_t left = begin_of(c, cloud + 1) - first;
    *n = (int)(left < 0 ? 0 : left < BLOCK ? left : BLOCK);
    return first;
}

/* ---- robust.py ----------------------------------------------------------------------------- */

enum loss { HUBER, TUKEY, GEMAN_MCCLURE, GNC_TLS, TRUNCATED }; /* the last ends GNC_TLS */

static const double SHARPEST = 100, STARTED = 0.01, MEDIAN_LENGTH = 1.5382;

/* Both clouds about an origin each, in units of their size, and the pose there. */
struct frame {
    double source[3], target[3], scale;
    REAL R[9], shift[3], per_c2, sharpness; /* R is times the scale of a similarity */
};

/* Points of a block in a frame, their errors, and what the loss makes of them. */
struct errors {
    _Alignas(64) REAL w[BLOCK];
    REAL s[3][BLOCK], t[3][BLOCK], e[3][BLOCK], ratio[BLOCK], factor[BLOCK], slope[BLOCK];
};

static void set_cutoff(const struct call *c, int64_t cloud, struct frame *f)
{
    double noise = fmax((double)c->noise[cloud] * f->scale, sqrt(sqrt((double)TINY)));
    f->per_c2 = (REAL)(1 / (c->cutoff * noise * c->cutoff * noise));
}

static void set_frame(const struct call *c, int64_t cloud, const double *source_mean,
                      const double *target_mean, struct frame *f)
{
    const REAL *R = c->rotation + 9 * cloud, *t = c->translation + 3 * cloud;
    const double factor = c->factor ? c->factor[cloud] : 1;
    f->scale = c->state[cloud].scale;
    for (int i = 0; i < 3; i++) {
        double moved = t[i] - target_mean[i];
        for (int j = 0; j < 3; j++) {
            moved += factor * R[3 * i + j] * source_mean[j];
            f->R[3 * i + j] = (REAL)(factor * R[3 * i + j]);
        }
        f->shift[i] = (REAL)(moved * f->scale);
        f->source[i] = source_mean[i];
        f->target[i] = target_mean[i];
    }
    set_cutoff(c, cloud, f);
}

/* Fill in points, weights, errors and |e|^2 / c^2. The number of points, up to whole vectors. */
static int errors_of(const struct call *c, const struct frame *f, int64_t first, int n,
                     struct errors *x)
{
    less_narrow(c->source + 3 * first, n, f->source, (REAL)f->scale, x->s);
    less_narrow(c->target + 3 * first, n, f->target, (REAL)f->scale, x->t);
    for (int i = 0; i < n; i++) x->w[i] = c->weights ? c->weights[first + i] : 1;
    for (int i = 0; c->mask && i < n; i++)
        if (!c->mask[first + i]) {
            x->w[i] = 0;
            for (int k = 0; k < 3; k++) x->s[k][i] = x->t[k][i] = 0;
        }
    for (; n % (4 * REALS); n++) {
        x->w[n] = 0;
        for (int k = 0; k < 3; k++) x->s[k][n] = x->t[k][n] = 0;
    }
    for (int i = 0; i < n; i += REALS) {
        reals sx = REALS_AT(x->s[0], i), sy = REALS_AT(x->s[1], i), sz = REALS_AT(x->s[2], i);
        reals squared = {0};
        for (int k = 0; k < 3; k++) {
            reals e = REALS_AT(x->t[k], i) - f->shift[k];
            e -= f->R[3 * k] * sx + f->R[3 * k + 1] * sy + f->R[3 * k + 2] * sz;
            REALS_AT(x->e[k], i) = e;
            squared += e * e;
        }
        REALS_AT(x->ratio, i) = squared * f->per_c2;
    }
    return n;
}

/* rho' of each ratio: the factor of a match in the next fit. */
static void factors_of(int loss, REAL sharpness, const REAL *restrict ratio, int n,
                       REAL *restrict factor)
{
    const REAL high = sharpness * (sharpness + 1), least = (REAL)1e-30;
    for (int i = 0; loss == HUBER && i < n; i++)
        factor[i] = 1 / SQRT(ratio[i] > 1 ? ratio[i] : 1);
    for (int i = 0; loss == TUKEY && i < n; i++) {
        REAL inside = ratio[i] < 1 ? 1 - ratio[i] : 0;
        factor[i] = inside * inside;
    }
    for (int i = 0; loss == GEMAN_MCCLURE && i < n; i++)
        factor[i] = 1 / ((1 + ratio[i]) * (1 + ratio[i]));
    for (int i = 0; loss == GNC_TLS && i < n; i++) {
        REAL middle = SQRT(high / (ratio[i] > least ? ratio[i] : least)) - sharpness;
        middle = middle < 1 ? middle : 1;
        factor[i] = middle > 0 ? middle : 0;
    }
    for (int i = 0; loss == TRUNCATED && i < n; i++) factor[i] = ratio[i] < 1;
}

/* 2 rho'' / c^2: the derivative of the factor by half of |e|^2. */
static void slopes_of(int loss, REAL per_c2, int n, struct errors *x)
{
    const REAL *restrict ratio = x->ratio, *restrict factor = x->factor;
    REAL *restrict slope = x->slope;
    for (int i = 0; loss == HUBER && i < n; i++)
        slope[i] = ratio[i] > 1 ? -per_c2 * factor[i] / ratio[i] : 0;
    for (int i = 0; loss == TUKEY && i < n; i++)
        slope[i] = ratio[i] < 1 ? -4 * per_c2 * (1 - ratio[i]) : 0;
    for (int i = 0; loss == GEMAN_MCCLURE && i < n; i++)
        slope[i] = -4 * per_c2 * factor[i] / (1 + ratio[i]);
}

static double total_of_reals(const reals *v)
{
    double sum = 0;
    for (int i = 0; i < REALS; i++) sum += ((const REAL *)v)[i];
    return sum;
}

/* The sums of a block, its matches weighted by their errors; `factors` gets the factors, or NULL.
 * The origin lies near the means, so one pass in REAL is exact enough. */
static void weigh_block(const struct call *c, const struct frame *f, int loss, int64_t first, int n,
                        REAL *factors, struct sums *out)
{
    struct errors x;
    reals w = {0}, size = {0}, a[6] = {ZERO}, H[9] = {ZERO};
    double mean[6];
    const int filled = errors_of(c, f, first, n, &x);
    factors_of(loss, f->sharpness, x.ratio, filled, x.factor);
    for (int i = 0; factors && i < n; i++)
        factors[first + i] = c->mask && !c->mask[first + i] ? 0 : x.factor[i];
    for (int i = 0; i < filled; i += REALS) {
        reals weight = REALS_AT(x.w, i) * REALS_AT(x.factor, i), s[3];
        w += weight;
        for (int k = 0; k < 3; k++) {
            s[k] = weight * REALS_AT(x.s[k], i);
            a[k] += s[k];
            a[3 + k] += weight * REALS_AT(x.t[k], i);
            if (c->factor) size += s[k] * REALS_AT(x.s[k], i);
        }
        for (int k = 0; k < 9; k++) H[k] += REALS_AT(x.t[k / 3], i) * s[k % 3];
    }
    memset(out, 0, sizeof *out);
    out->total = total_of_reals(&w);
    const double total = out->total == 0 ? 1 : out->total, unit = 1 / f->scale;
    for (int k = 0; k < 6; k++) mean[k] = total_of_reals(a + k) / total;
    for (int k = 0; k < 3; k++) {
        out->source_mean[k] = f->source[k] + mean[k] * unit;
        out->target_mean[k] = f->target[k] + mean[3 + k] * unit;
        out->spread_of[0] -= out->total * mean[k] * mean[k];
    }
    /* Of S only the trace is used. */
    out->spread_of[0] = (out->spread_of[0] + total_of_reals(&size)) * unit * unit;
    for (int k = 0; k < 9; k++) {
        double centred = total_of_reals(H + k) - out->total * mean[3 + k / 3] * mean[k % 3];
        out->cross[k] = centred * unit * unit;
    }
}

static void weigh(const struct call *c, int64_t cloud, const struct frame *f, int loss,
                  REAL *factors, struct sums *parts)
{
    for (int64_t block = first_block(c, cloud); block < first_block(c, cloud + 1); block++) {
        int n;
        int64_t first = block_at(c, cloud, block, &n);
        weigh_block(c, f, loss, first, n, factors, parts + block);
    }
}

/* Write |e|^2 / c^2 of all matches with weight, one after the other; how many there are. */
static int64_t ratios_of(const struct call *c, int64_t cloud, const struct frame *f, REAL *out)
{
    struct errors x;
    int64_t count = 0;
    for (int64_t block = first_block(c, cloud); block < first_block(c, cloud + 1); block++) {
        int n;
        int64_t first = block_at(c, cloud, block, &n);
        errors_of(c, f, first, n, &x);
        for (int i = 0; i < n; i++)
            if (x.w[i] > 0) out[count++] = x.ratio[i];
    }
    return count;
}

/* The k-th smallest number, by Hoare's selection, which reorders them. */
static REAL smallest(REAL *a, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        REAL pivot = a[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i > j) break;
            REAL swapped = a[i];
            a[i++] = a[j];
            a[j--] = swapped;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return a[k];
}

/* All rounds of a cloud. The scale is that of the first fit, so that wrong matches fit in, too. */
static void robust_cloud(const struct call *c, int64_t cloud, struct sums *parts)
{
    struct state *state = c->state + cloud;
    REAL *R = c->rotation + 9 * cloud, *t = c->translation + 3 * cloud;
    REAL *factors = c->factors + begin_of(c, cloud);
    const int64_t points = begin_of(c, cloud + 1) - begin_of(c, cloud);
    for (int64_t block = first_block(c, cloud); block < first_block(c, cloud + 1); block++) {
        int n;
        int64_t first = block_at(c, cloud, block, &n);
        sum_block(c, first, n, parts + block);
    }
    fit(c, cloud, parts);
    const double scale = state->scale;
    if (!finite9(R)) {
        memset(factors, 0, points * sizeof(REAL));
        c->noise[cloud] = NAN;
        return;
    }
    if (c->robust_start) {
        memcpy(R, c->robust_start + 13 * cloud, 9 * sizeof(REAL));
        memcpy(t, c->robust_start + 13 * cloud + 9, 3 * sizeof(REAL));
        if (c->factor) c->factor[cloud] = c->robust_start[13 * cloud + 12];
    }
    double softest = 1;
    for (int64_t k = 0; k < c->rounds; k++) {
        struct frame f;
        int loss = c->loss;
        if (c->estimate) c->noise[cloud] = (REAL)(1 / scale);
        set_frame(c, cloud, state->source_mean, state->target_mean, &f);
        if (c->estimate) {
            int64_t count = ratios_of(c, cloud, &f, factors);
            double median = count ? smallest(factors, count, (count - 1) / 2) : 1;
            double length = count ? sqrt(median) * c->cutoff : 1;
            c->noise[cloud] = (REAL)(fmax(length / MEDIAN_LENGTH, sqrt(sqrt((double)TINY))) / scale);
            set_cutoff(c, cloud, &f);
        }
        if (loss == GNC_TLS) {
            if (k == 0) {
                REAL largest = 0; /* not by fmax, on which GCC 12 fails */
                int64_t count = ratios_of(c, cloud, &f, factors);
                for (int64_t i = 0; i < count; i++)
                    largest = factors[i] > largest ? factors[i] : largest;
                softest = 1 / fmax(2 * (double)largest - 1, 1e-6);
                if (c->robust_start) softest = fmax(softest, STARTED);
            }
            double done = (double)k / (double)(c->rounds > 1 ? c->rounds - 1 : 1);
            f.sharpness = (REAL)(softest * pow(fmax(SHARPEST / softest, 1), done));
            if (k == c->rounds - 1) loss = TRUNCATED;
        }
        weigh(c, cloud, &f, loss, c->factors, parts);
        fit(c, cloud, parts);
        state->scale = scale;
    }
}

static REAL dot_of(const REAL *restrict a, const REAL *restrict b, int n)
{
    reals sum[4] = {ZERO};
    for (int i = 0; i < n; i += 4 * REALS)
        for (int k = 0; k < 4; k++) sum[k] += REALS_AT(a, i + k * REALS) * REALS_AT(b, i + k * REALS);
    sum[0] += sum[1] + (sum[2] + sum[3]);
    return (REAL)total_of_reals(sum);
}

/* Add sum_i w_i rho''_i (J_i^T e_i)(J_i^T e_i)^T of a block to the lower half of a matrix. */
static void bend(const struct frame *f, const struct errors *x, int filled, int size, double A[7][7])
{
    _Alignas(64) REAL columns[7][BLOCK], weighted[BLOCK];
    const REAL *R = f->R;
    for (int i = 0; i < filled; i += REALS) {
        reals sx = REALS_AT(x->s[0], i), sy = REALS_AT(x->s[1], i), sz = REALS_AT(x->s[2], i);
        reals ex = REALS_AT(x->e[0], i), ey = REALS_AT(x->e[1], i), ez = REALS_AT(x->e[2], i);
        reals a = R[0] * ex + R[3] * ey + R[6] * ez, b = R[1] * ex + R[4] * ey + R[7] * ez;
        reals c = R[2] * ex + R[5] * ey + R[8] * ez;
        REALS_AT(columns[0], i) = sy * c - sz * b;
        REALS_AT(columns[1], i) = sz * a - sx * c;
        REALS_AT(columns[2], i) = sx * b - sy * a;
        REALS_AT(columns[3], i) = ex;
        REALS_AT(columns[4], i) = ey;
        REALS_AT(columns[5], i) = ez;
        REALS_AT(columns[6], i) = sx * a + sy * b + sz * c;
    }
    for (int k = 0; k < size; k++) {
        for (int i = 0; i < filled; i += REALS)
            REALS_AT(weighted, i) =
                REALS_AT(x->w, i) * REALS_AT(x->slope, i) * REALS_AT(columns[k], i);
        for (int j = 0; j <= k; j++) A[k][j] += dot_of(weighted, columns[j], filled);
    }
}

/* The inverse of a symmetric matrix, given its lower half; 0 if it might be singular. */
static int inverse_of(int n, double A[7][7], double out[7][7])
{
    double size[7], L[7][7] = {ZERO}, M[7][7] = {ZERO}, norm = 0; /* M = L^-1 */
    for (int i = 0; i < n; i++) {
        if (!(A[i][i] > 0)) return 0;
        size[i] = sqrt(A[i][i]);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double value = A[i][j] / (size[i] * size[j]);
            for (int k = 0; k < j; k++) value -= L[i][k] * L[j][k];
            if (i == j && !(value > 0)) return 0;
            L[i][j] = i == j ? sqrt(value) : value / L[j][j];
        }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double value = i == j;
            for (int k = j; k < i; k++) value -= L[i][k] * M[k][j];
            M[i][j] = value / L[i][i];
            norm += M[i][j] * M[i][j];
        }
    /* Eigenvalues lie between 1 / norm and n. `symmetric_inverse` drops those that are too small. */
    if (!(norm * n * 16 * (double)EPS < 1)) return 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double value = 0;
            for (int k = i > j ? i : j; k < n; k++) value += M[k][i] * M[k][j];
            out[i][j] = value / (size[i] * size[j]);
        }
    return 1;
}

/* The gradient at the points of a block. `answer` is the system's, times the scale. */
static void push_errors(const struct call *c, const struct frame *f, const double *answer,
                        int64_t first, int n)
{
    struct errors x;
    REAL change[9], M[9], R[9], v[3], per_scale = (REAL)(1 / f->scale);
    for (int i = 0; i < 9; i++) change[i] = i % 4 == 0 ? (REAL)answer[6] : 0;
    for (int i = 0; i < 3; i++) {
        change[3 * ((i + 2) % 3) + (i + 1) % 3] = (REAL)answer[i];
        change[3 * ((i + 1) % 3) + (i + 2) % 3] = (REAL)-answer[i];
        v[i] = (REAL)answer[3 + i];
    }
    memcpy(R, f->R, sizeof R);
    matmul(R, change, M);
    const int filled = errors_of(c, f, first, n, &x);
    factors_of(c->loss, 0, x.ratio, filled, x.factor);
    slopes_of(c->loss, f->per_c2, filled, &x);
    for (int i = 0; i < filled; i += REALS) {
        reals sx = REALS_AT(x.s[0], i), sy = REALS_AT(x.s[1], i), sz = REALS_AT(x.s[2], i);
        reals w = REALS_AT(x.w, i) * REALS_AT(x.factor, i), along = {0}, p[3], e[3];
        for (int k = 0; k < 3; k++) {
            e[k] = REALS_AT(x.e[k], i);
            p[k] = M[3 * k] * sx + M[3 * k + 1] * sy + M[3 * k + 2] * sz + v[k];
            along += p[k] * e[k];
        }
        reals bent = REALS_AT(x.w, i) * REALS_AT(x.slope, i) * along;
        for (int k = 0; k < 3; k++) {
            p[k] = w * p[k] + bent * e[k];
            e[k] *= w;
            REALS_AT(x.t[k], i) = p[k];
        }
        for (int k = 0; k < 3; k++)
            REALS_AT(x.s[k], i) = M[k] * e[0] + M[3 + k] * e[1] + M[6 + k] * e[2] -
                                  (R[k] * p[0] + R[3 + k] * p[1] + R[6 + k] * p[2]);
        REALS_AT(x.ratio, i) = REALS_AT(x.factor, i) * along * per_scale;
    }
    if (c->d_source) interleave(x.s, n, c->d_source + 3 * first);
    if (c->d_target) interleave(x.t, n, c->d_target + 3 * first);
    for (int i = 0; c->d_weights && i < n; i++)
        c->d_weights[first + i] = c->mask && !c->mask[first + i] ? 0 : x.ratio[i];
}

/* The gradient of the minimum that the rounds found; 0 if the reference has to compute it. */
static int robust_gradient(const struct call *c, int64_t cloud, struct sums *parts)
{
    const int64_t begin = begin_of(c, cloud), points = begin_of(c, cloud + 1) - begin;
    const struct state *state = c->state + cloud;
    const REAL *R = c->rotation + 9 * cloud;
    const REAL *g_R = MAYBE(c->g_rotation, 9 * cloud), *g_t = MAYBE(c->g_translation, 3 * cloud);
    const int size = c->factor ? 7 : 6;
    const double factor = c->factor ? c->factor[cloud] : 1;
    if (!finite9(R)) {
        if (c->d_source) memset(c->d_source + 3 * begin, 0, 3 * points * sizeof(REAL));
        if (c->d_target) memset(c->d_target + 3 * begin, 0, 3 * points * sizeof(REAL));
        if (c->d_weights) memset(c->d_weights + begin, 0, points * sizeof(REAL));
        return 1;
    }
    struct frame f;
    struct errors x;
    struct sums sum;
    int n;
    set_frame(c, cloud, state->source_mean, state->target_mean, &f);
    weigh(c, cloud, &f, c->loss, NULL, parts);
    memset(&sum, 0, sizeof sum);
    for (int64_t i = first_block(c, cloud); i < first_block(c, cloud + 1); i++)
        merge(&sum, parts + i, 0);
    if (!(sum.total > sqrt((double)TINY))) return 0;

    /* The system: the Hessian of the weighted fit, about its means, and the bend of the loss. */
    const double area = f.scale * f.scale;
    double A[7][7] = {ZERO}, inverse[7][7], K[9] = {0};
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < 3; k++)
            K[i] += R[3 * k + i / 3] * sum.cross[3 * k + i % 3] * area * factor;
    for (int i = 0; i < 9; i++)
        A[i / 3][i % 3] = (i % 4 == 0) * (K[0] + K[4] + K[8]) - (K[i] + K[i % 3 * 3 + i / 3]) / 2;
    for (int k = 3; k < 6; k++) A[k][k] = sum.total;
    A[6][6] = factor * factor * area * (sum.spread_of[0] + sum.spread_of[3] + sum.spread_of[5]);
    set_frame(c, cloud, sum.source_mean, sum.target_mean, &f);
    for (int64_t block = first_block(c, cloud); block < first_block(c, cloud + 1); block++) {
        int64_t first = block_at(c, cloud, block, &n);
        int filled = errors_of(c, &f, first, n, &x);
        factors_of(c->loss, 0, x.ratio, filled, x.factor);
        slopes_of(c->loss, f.per_c2, filled, &x);
        bend(&f, &x, filled, size, A);
    }
    if (!inverse_of(size, A, inverse)) return 0;

    /* The gradient at the turn, the shift and the growth, where t = shift - factor R mean. */
    double wanted[7] = {0}, answer[7] = {0}, back[3] = {0};
    const double *mean = sum.source_mean;
    REAL turn[3] = {0};
    if (g_R) torque(R, g_R, turn);
    for (int i = 0; g_t && i < 9; i++) back[i % 3] += (double)R[i] * g_t[i / 3];
    wanted[6] = c->g_factor ? c->g_factor[cloud] * factor : 0;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        wanted[i] = turn[i] - factor * (mean[j] * back[k] - mean[k] * back[j]);
        wanted[3 + i] = g_t ? g_t[i] / f.scale : 0;
        wanted[6] -= factor * mean[i] * back[i];
    }
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) answer[i] += inverse[i][j] * wanted[j] * f.scale;
    for (int64_t block = first_block(c, cloud); block < first_block(c, cloud + 1); block++) {
        int64_t first = block_at(c, cloud, block, &n);
        push_errors(c, &f, answer, first, n);
    }
    return 1;
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* Plain threads, started for large work only: a second OpenMP runtime beside torch's would keep
 * a second pool of spinning threads, and neither survives a fork. Without POSIX threads, that is on
 * Windows, one thread does it all. */

struct work {
    void (*task)(const struct work *, int64_t item);
    const struct call *call;
    void *scratch; /* sums of each block, or the push of each cloud */
    int64_t from, to;
};

static void *labour(void *argument)
{
    const struct work *work = argument;
    for (int64_t item = work->from; item < work->to; item++) work->task(work, item);
    return NULL;
}

static void for_each(void (*task)(const struct work *, int64_t), const struct call *c,
                     void *scratch, int64_t items)
{
#ifdef _WIN32
    struct work all = {task, c, scratch, 0, items};
    labour(&all);
#else
    struct work parts[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    int started[MAX_THREADS];
    int64_t count = (begin_of(c, c->clouds) + c->clouds * CLOUD) / SHARE;
    if (count > c->threads) count = c->threads;
    if (count > MAX_THREADS) count = MAX_THREADS;
    if (count > items) count = items;
    if (count < 1) count = 1;
    for (int i = 0; i < count; i++) {
        parts[i] = (struct work){task, c, scratch, items * i / count, items * (i + 1) / count};
        started[i] = i > 0 && pthread_create(&threads[i], NULL, labour, &parts[i]) == 0;
    }
    for (int i = 0; i < count; i++)
        if (!started[i]) labour(&parts[i]);
    for (int i = 0; i < count; i++)
        if (started[i]) pthread_join(threads[i], NULL);
#endif
}

static void sum_task(const struct work *work, int64_t block)
{
    int n;
    int64_t first = block_at(work->call, cloud_of(work->call, block), block, &n);
    sum_block(work->call, first, n, (struct sums *)work->scratch + block);
}

static void fit_task(const struct work *work, int64_t cloud)
{
    fit(work->call, cloud, (struct sums *)work->scratch);
}

static void unfit_task(const struct work *work, int64_t cloud)
{
    unfit(work->call, cloud, (struct push *)work->scratch + cloud);
}

static void push_task(const struct work *work, int64_t block)
{
    int n;
    int64_t cloud = cloud_of(work->call, block), first = block_at(work->call, cloud, block, &n);
    push_block(work->call, cloud, first, n, (struct push *)work->scratch + cloud);
}

static void robust_task(const struct work *work, int64_t cloud)
{
    robust_cloud(work->call, cloud, (struct sums *)work->scratch);
}

static void robust_gradient_task(const struct work *work, int64_t cloud)
{
    struct sums *parts = work->scratch;
    /* The total of a cloud's first block says if its gradient is done. */
    parts[first_block(work->call, cloud)].total = robust_gradient(work->call, cloud, parts);
}

/* ---- The entries: 0 for success, 1 for no memory ------------------------------------------- */

/* How many doubles Python has to allocate for the state of a cloud. */
EXPORT int pose_head_state(void) { return (int)(sizeof(struct state) / sizeof(double)); }

/* The size of an argument, by which Python knows a library of another version. */
EXPORT int pose_head_call(void) { return (int)sizeof(struct call); }

EXPORT int pose_head_forward(const struct call *c)
{
    struct sums *parts = malloc(first_block(c, c->clouds) * sizeof *parts);
    if (!parts) return 1;
    for_each(sum_task, c, parts, first_block(c, c->clouds));
    for_each(fit_task, c, parts, c->clouds);
    free(parts);
    return 0;
}

EXPORT int pose_head_backward(const struct call *c)
{
    struct push *pushes = malloc(c->clouds * sizeof *pushes);
    if (!pushes) return 1;
    for_each(unfit_task, c, pushes, c->clouds);
    if (c->d_source || c->d_target || c->d_weights)
        for_each(push_task, c, pushes, first_block(c, c->clouds));
    free(pushes);
    return 0;
}

EXPORT int robust_forward(const struct call *c)
{
    struct sums *parts = malloc(first_block(c, c->clouds) * sizeof *parts);
    if (!parts) return 1;
    for_each(robust_task, c, parts, c->clouds);
    free(parts);
    return 0;
}

/* 2 if a cloud's system might be singular: the gradients are the reference's then. */
EXPORT int robust_backward(const struct call *c)
{
    struct sums *parts = malloc(first_block(c, c->clouds) * sizeof *parts);
    int status = 0;
    if (!parts) return 1;
    for_each(robust_gradient_task, c, parts, c->clouds);
    for (int64_t i = 0; i < c->clouds; i++)
        if (parts[first_block(c, i)].total == 0) status = 2;
    free(parts);
    return status;
}
