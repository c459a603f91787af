"""The C that the programs of all types have in common: vectors of lanes, and masks of them."""

__all__ = ["LANE_PRELUDE"]

LANE_PRELUDE = """\
/* Cells that are computed at a time. */
#if LANES == 1
#define WIDTH 1
#if defined __AVX512F__ && !defined __clang__
#pragma GCC target("no-avx512f")  /* it would keep numbers in registers for masks */
#endif
#elif defined __AVX512F__ && (defined __clang__ || __GNUC__ >= 12)
#define WIDTH 16
#else
#define WIDTH 8
#endif

typedef uint32_t V __attribute__((vector_size(4 * WIDTH)));
typedef int32_t S __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t U __attribute__((vector_size(4 * WIDTH), aligned(4)));
typedef uint32_t H __attribute__((vector_size(4 * HALF), aligned(4)));
typedef float F __attribute__((vector_size(32)));
#define INLINE static inline __attribute__((always_inline))
/* A vector of what F(l) is for each lane l. An unrolled loop that sets its lanes takes GCC ten
   times as long. */
#if WIDTH == 1
#define EACH_LANE(F) {F(0)}
#elif WIDTH == 8
#define EACH_LANE(F) {F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7)}
#else
#define EACH_LANE(F) \\
  {F(0), F(1), F(2),  F(3),  F(4),  F(5),  F(6),  F(7), \\
   F(8), F(9), F(10), F(11), F(12), F(13), F(14), F(15)}
#endif

/* Where the lanes from cell i on are, in the first row of an array [vector][row][lane]. */
#if WIDTH == LANES
#define AT(rows) (i * (rows))
#else
#define AT(rows) ((i & -LANES) * (rows) + (i & LANES - 1))
#endif

INLINE V splat(uint32_t x) { return x - (V){0}; }
INLINE V load(const uint32_t *p) { return *(const U *)p; }
INLINE void store(uint32_t *p, V x) { *(U *)p = x; }
/* A mask has a bit for each lane, in a register for masks; or else lanes of all ones or all zeros,
   as tables hold it. */
#if WIDTH == 16 && defined __AVX512DQ__ && !defined __clang__
#define MASKS
typedef uint16_t M;
INLINE V full(M k) { return (V)__builtin_ia32_cvtmask2d512(k); }
INLINE M mask(V x) { return __builtin_ia32_cvtd2mask512((S)x); }
INLINE unsigned bits(M k) { return k; }
INLINE V mux(M k, V a, V b) { return (V)__builtin_ia32_movdqa32_512_mask((S)a, (S)b, k); }
INLINE V where(M k, uint32_t x) { return mux(k, splat(x), splat(0)); }
INLINE V plus(V x, M k) { return (V)__builtin_ia32_paddd512_mask((S)x, (S)splat(1), (S)x, k); }
INLINE M bit_of(V x, int n) { return __builtin_ia32_ptestmd512((S)x, (S)splat(1u << n), -1); }
INLINE M equal(V a, V b) { return __builtin_ia32_pcmpeqd512_mask((S)a, (S)b, -1); }
INLINE M ltu(V a, V b) { return __builtin_ia32_ucmpd512_mask((S)a, (S)b, 1, -1); }
INLINE M lts(V a, V b) { return __builtin_ia32_cmpd512_mask((S)a, (S)b, 1, -1); }
#else
typedef V M;
INLINE V full(M k) { return k; }
INLINE M mask(V x) { return x; }
INLINE unsigned bits(M k) {
#if WIDTH == 16 && !defined __clang__
  return (unsigned short)__builtin_ia32_ptestmd512((S)k, (S)k, -1);
#elif defined __AVX2__ && WIDTH == 8
  return __builtin_ia32_movmskps256((F)k);
#else
  unsigned r = 0;
  for (int l = 0; l < WIDTH; l++) r |= (k[l] & 1) << l;
  return r;
#endif
}
#if defined __AVX2__ && WIDTH == 8
INLINE V mux(M k, V a, V b) {
  typedef char B __attribute__((vector_size(32)));
  return (V)__builtin_ia32_pblendvb256((B)b, (B)a, (B)k);
}
#else
INLINE V mux(M k, V a, V b) { return b ^ ((a ^ b) & k); }
#endif
INLINE V where(M k, uint32_t x) { return k & x; }
INLINE V plus(V x, M k) { return x - k; }
INLINE M bit_of(V x, int n) { return (M)((S)(x << (31 - n)) >> 31); }
INLINE M equal(V a, V b) { return (M)(a == b); }
INLINE M ltu(V a, V b) { return (M)(a < b); }
INLINE M lts(V a, V b) { return (M)((S)a < (S)b); }
#endif
#define YES ((M)(NO - 1))
#define NO ((M){0})
INLINE M either(M k, M a, M b) { return b ^ ((a ^ b) & k); }
/* Faster than the instructions for it, on processors of AMD at least. */
INLINE V gather(const uint32_t *wires, const int32_t *index) {
  V x;
  for (int l = 0; l < WIDTH; l++) x[l] = wires[index[l]];
  return x;
}
/* A word of a row of each lane's memory. */
#define READ(T) \\
  INLINE V read_##T(const T *m, V a, long rows, int words) { \\
    return (V)EACH_LANE(ROW); \\
  }
#define ROW(l) m[(l * rows + a[l]) * words]
READ(uint8_t)
READ(uint16_t)
READ(uint32_t)
/* Lanes of two rows. The low 5 bits of each index are the place in both rows; the others are, in
   index[0] and index[1], where the rows begin, in bytes. */
INLINE H half(const uint32_t *wires, const int32_t *index) {
  const H *a = (const H *)((const char *)wires + (index[0] & -4u * HALF));
  const H *b = (const H *)((const char *)wires + (index[1] & -4u * HALF));
#ifdef __clang__
  H x;
  for (int l = 0; l < HALF; l++) x[l] = (*(index[l] & HALF ? b : a))[index[l] % HALF];
  return x;
#else
  return __builtin_shuffle(*a, *b, *(const H *)index);
#endif
}
INLINE V pair(const uint32_t *wires, const int32_t *index) {
#if WIDTH < HALF
  return gather(wires, index);
#elif WIDTH == HALF
  return half(wires, index);
#else
  H a = half(wires, index), b = half(wires, index + HALF);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
}
INLINE void fail(Context *c, const Type *t, long event, long i, M hit) {
  const unsigned lanes = bits(hit & mask(load(t->live + i)));
  if (!lanes || c->event >= 0) return;
  c->event_type = t;
  c->event = event;
  c->event_cell = i + __builtin_ctz(lanes);
}
/* A word of the quotient or remainder of two numbers of `n` words each. */
static uint32_t divide(const uint32_t *a, const uint32_t *b, int n, int remainder, int word) {
  uint32_t q[n], r[n];
  int zero = 1;
  for (int i = 0; i < n; i++) {
    q[i] = r[i] = 0;
    zero &= b[i] == 0;
  }
  if (zero) return 0;
  for (int bit = 32 * n - 1; bit >= 0; bit--) {
    uint32_t carry = a[bit / 32] >> bit % 32 & 1;
    uint32_t over = 0;
    for (int i = 0; i < n; i++) {
      over = r[i] >> 31;
      r[i] = r[i] << 1 | carry;
      carry = over;
    }
    int less = 0;
    if (!over)
      for (int i = 0; i < n; i++) less = r[i] < b[i] || (r[i] == b[i] && less);
    if (less) continue;
    uint32_t borrow = 0;
    for (int i = 0; i < n; i++) {
      uint64_t d = (uint64_t)r[i] - b[i] - borrow;
      r[i] = (uint32_t)d;
      borrow = d >> 63;
    }
    q[bit / 32] |= 1u << bit % 32;
  }
  return remainder ? r[word] : q[word];
}
"""
"""What the functions of a type use, after the structures of all programs."""
