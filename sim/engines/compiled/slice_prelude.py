"""The C that the programs of all sliced types have in common."""

__all__ = ["SLICE_BORDERS", "SLICE_PRELUDE"]

SLICE_PRELUDE = """\
#define BLOCK (64 * WORDS)  /* cells that are computed at a time */
#define VECTORS (BLOCK / WIDTH)
#if WORDS == 1
typedef uint64_t P;
#else
typedef uint64_t P __attribute__((vector_size(8 * WORDS)));
#endif
#if WIDTH == 16
typedef uint16_t Bits;
#else
typedef uint8_t Bits;
#endif
typedef uint32_t U1 __attribute__((aligned(1)));
#define ALL (~(P){0})
#define NONE ((P){0})

/* The bits of a plane for vector v of a block. */
INLINE unsigned part(const P *p, long v) { return ((const Bits *)p)[v]; }
INLINE M spread(const P *p, long v) {
#ifdef MASKS
  return __builtin_ia32_kmovw(((const Bits *)p)[v]); /* at once, not by way of other registers */
#else
  static const uint32_t places[] __attribute__((aligned(64))) = {
      1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7,
      1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
      1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
      1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};
  V place = load(places + v * WIDTH % 32);
  return equal(splat(((const uint32_t *)p)[v * WIDTH / 32]) & place, place);
#endif
}
INLINE void collect(P *p, long v, M k) { ((Bits *)p)[v] = bits(k); }
/* The lowest bytes of lanes, from which planes are then taken. */
INLINE void keep_bytes(uint8_t *p, long v, V x) {
  p += v * WIDTH;
#if WIDTH == 16 && !defined __clang__
  typedef char B __attribute__((vector_size(16), aligned(1)));
  *(B *)p = __builtin_ia32_pmovdb512_mask((S)x, (B){0}, -1);
#elif WIDTH == 8 && defined __AVX2__
  typedef char B __attribute__((vector_size(32)));
  const B low = {0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  V y = (V)__builtin_ia32_pshufb256((B)x, low);
  *(U1 *)p = y[0];
  *(U1 *)(p + 4) = y[4];
#else
  for (int l = 0; l < WIDTH; l++) p[l] = x[l];
#endif
}
INLINE uint64_t word_of(const uint8_t *p, int n) {
#if defined __AVX512BW__ && !defined __clang__
  typedef char B __attribute__((vector_size(64)));
  typedef short W __attribute__((vector_size(64)));
  return __builtin_ia32_cvtb2mask512((B)(*(const W *)p << (7 - n)));
#elif defined __AVX2__
  typedef char B __attribute__((vector_size(32)));
  typedef short W __attribute__((vector_size(32)));
  const W *w = (const W *)p;
  return (uint32_t)__builtin_ia32_pmovmskb256((B)(w[0] << (7 - n))) |
         (uint64_t)(uint32_t)__builtin_ia32_pmovmskb256((B)(w[1] << (7 - n))) << 32;
#else
  uint64_t r = 0;
  for (int l = 0; l < 8; l++)
    r |= (((const uint64_t *)p)[l] >> n & 0x0101010101010101) * 0x0102040810204080 >> 56 << 8 * l;
  return r;
#endif
}
#if WORDS == 1
#define EACH_WORD(of) of(0)
#else
#define EACH_WORD(of) ((P){of(0), of(1), of(2), of(3)})
#endif
/* In the place of a byte for each cell, of which some bits are used, 8 planes. */
#if WIDTH == 16 && defined __GFNI__ && defined __AVX512VBMI__ && !defined __clang__
typedef char B __attribute__((vector_size(64)));
typedef int64_t Q __attribute__((vector_size(64)));
#define UP(n) n, n + 8, n + 16, n + 24, n + 32, n + 40, n + 48, n + 56
#define DOWN(n) n + 7, n + 6, n + 5, n + 4, n + 3, n + 2, n + 1, n
/* Bit m of byte n of each 8 bytes becomes bit n of byte m. */
INLINE Q turned_bits(Q x) {
  const Q ones = (Q){} + 0x8040201008040201;
  const B back = {DOWN(0), DOWN(8), DOWN(16), DOWN(24), DOWN(32), DOWN(40), DOWN(48), DOWN(56)};
  return (Q)__builtin_ia32_vgf2p8affineqb_v64qi((B)ones, __builtin_shuffle((B)x, back), 0);
}
/* Byte m of 8 bytes n becomes byte n of 8 bytes m. */
INLINE Q turned_bytes(Q x) {
  return (Q)__builtin_shuffle((B)x, (B){UP(0), UP(1), UP(2), UP(3), UP(4), UP(5), UP(6), UP(7)});
}
#if WORDS == 1
INLINE void to_planes(uint8_t *p, int bits) { *(Q *)p = turned_bytes(turned_bits(*(Q *)p)); }
#else
INLINE void to_planes(uint8_t *p, int bits) {
  Q *q = (Q *)p, x[4], y[4];
  _Pragma("GCC unroll 4") for (int n = 0; n < 4; n++) x[n] = turned_bytes(turned_bits(q[n]));
  const Q low = {0, 8, 1, 9, 2, 10, 3, 11}, high = {4, 12, 5, 13, 6, 14, 7, 15};
  y[0] = __builtin_shuffle(x[0], x[1], low), y[1] = __builtin_shuffle(x[2], x[3], low);
  y[2] = __builtin_shuffle(x[0], x[1], high), y[3] = __builtin_shuffle(x[2], x[3], high);
  const Q left = {0, 1, 8, 9, 2, 3, 10, 11}, right = {4, 5, 12, 13, 6, 7, 14, 15};
  q[0] = __builtin_shuffle(y[0], y[1], left), q[1] = __builtin_shuffle(y[0], y[1], right);
  q[2] = __builtin_shuffle(y[2], y[3], left), q[3] = __builtin_shuffle(y[2], y[3], right);
}
#endif
#else
INLINE void to_planes(uint8_t *p, int bits) {
  P x[8];
  _Pragma("GCC unroll 8") for (int n = 0; n < 8; n++) {
#define BIT_OF(w) word_of(p + 64 * w, n)
    if (bits >> n & 1) x[n] = EACH_WORD(BIT_OF);
  }
  _Pragma("GCC unroll 8") for (int n = 0; n < 8; n++)
    if (bits >> n & 1) ((P *)p)[n] = x[n];
}
#endif
/* A plane whose bits come from elsewhere: each term moves some of them. */
INLINE P rotated(P x, const P *term) { return (x << term[1] | x >> (-term[1] & 63)) & term[2]; }
INLINE P turned(const uint64_t *planes, const uint64_t *terms, int count) {
  P r = NONE;
  _Pragma("GCC unroll 8") for (int n = 0; n < count; n++, terms += 3 * WORDS) {
#define WORD(w) planes[terms[w]]
    r |= rotated(EACH_WORD(WORD), (const P *)terms);
  }
  return r;
}
INLINE P straight(const uint64_t *planes, const uint64_t *terms, int count) {
  typedef P U __attribute__((aligned(8)));
  P r = NONE;
  _Pragma("GCC unroll 8") for (int n = 0; n < count; n++, terms += 3 * WORDS)
    r |= rotated(*(const U *)(planes + *terms), (const P *)terms);
  return r;
}
INLINE uint64_t word_in_order(const uint64_t *planes, const uint64_t *term, int count) {
  uint64_t r = 0;
  for (int n = 0; n < count; n++, term += 3 * WORDS) {
    const uint64_t w = planes[*term], taken = term[WORDS], given = term[2 * WORDS];
#ifdef __BMI2__
    r |= __builtin_ia32_pdep_di(__builtin_ia32_pext_di(w, taken), given);
#else
    for (uint64_t from = taken, to = given; from; from &= from - 1, to &= to - 1)
      if (w & from & -from) r |= to & -to;
#endif
  }
  return r;
}
INLINE P in_order(const uint64_t *planes, const uint64_t *terms, int count) {
#define IN_ORDER(w) word_in_order(planes, terms + w, count)
  return EACH_WORD(IN_ORDER);
}
/* A bit that is the same in all cells. */
INLINE P everywhere(uint32_t mask) { return -(uint64_t)(mask & 1) - NONE; }
static void fail_plane(Context *c, const Type *t, long event, long b, const P *hit) {
  for (long v = 0; v < VECTORS; v++)
    for (unsigned e = part(hit, v); e; e &= e - 1) {
      const long cell = b + v * WIDTH + __builtin_ctz(e);
      if (!t->live[cell] || c->event >= 0) continue;
      c->event_type = t;
      c->event = event;
      c->event_cell = cell;
    }
}

/* A word in lanes whose bits are planes, from row `plane` on. */
typedef struct { int wire, row, bits, plane; } Word;

/* A register that counts, the first plane of what is pending, and the register's bits. */
typedef struct { int row, plane; uint32_t mask; } Counter;

"""
"""What the functions of a sliced type use, after the sizes and `words`, and the prelude of all."""

SLICE_BORDERS = """\
/* Add what is pending to counters. */
static void count(Context *c, const Type *t, long begin, long end) {
  for (long b = begin; b < end; b += BLOCK) {
    P *here = (P *)(c->planes + t->first_plane) + b / BLOCK * ROWS;
    for (const Counter *k = counters; k < counters + counter_count; k++) {
      P *pending = here + k->plane;
      for (long v = 0; v < VECTORS; v++) {
        const long i = b + v * WIDTH;
        uint32_t *row = t->state + AT(REGISTERS) + LANES * k->row;
        V x = load(row);
        for (int n = 0; n < PENDING; n++) x += where(spread(pending + n, v), 1u << n);
        store(row, x & splat(k->mask));
      }
      for (int n = 0; n < PENDING; n++) pending[n] = NONE;
    }
  }
}

/* Make the planes from states and wires in lanes. */
void enter(Context *c, const Type *t) {
  for (long b = 0; b < t->cells; b += BLOCK) {
    P *here = (P *)(c->planes + t->first_plane) + b / BLOCK * ROWS;
    for (const Word *w = words; w < words + word_count; w++)
      for (long v = 0; v < VECTORS; v++) {
        const long i = b + v * WIDTH;
        const uint32_t *from =
            w->wire ? c->now + t->first_wire + AT(OUTPUTS) : t->state + AT(REGISTERS);
        const V x = load(from + LANES * w->row);
        for (int n = 0; n < w->bits; n++) collect(here + w->plane + n, v, bit_of(x, n));
      }
  }
  carry(c, t);
}

/* Store the planes in states and wires in lanes, and outputs that no cell reads. */
void leave(Context *c, const Type *t) {
  count(c, t, 0, t->cells);
  for (long b = 0; b < t->cells; b += BLOCK) {
    const P *here = (const P *)(c->planes + t->first_plane) + b / BLOCK * ROWS;
    for (const Word *w = words; w < words + word_count; w++)
      for (long v = 0; v < VECTORS; v++) {
        const long i = b + v * WIDTH;
        uint32_t *to = w->wire ? c->now + t->first_wire + AT(OUTPUTS) : t->state + AT(REGISTERS);
        V x = full(spread(here + w->plane, v));
        if (w->bits > 1) {
          x &= splat(1);
          for (int n = 1; n < w->bits; n++) x |= where(spread(here + w->plane + n, v), 1u << n);
        }
        store(to + LANES * w->row, x);
      }
  }
  show(c, t);
}
"""
"""The functions by which the driver begins and ends to run a sliced type."""
