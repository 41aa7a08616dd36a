// What every generated kernel stands on: types, the arithmetic of the language (integers wrap, division has two
// roundings, min and max know nan), failures, the combination of a block's threads. No headers, so NVRTC needs none.

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

#define DEVICE __device__ static __forceinline__
constexpr u32 WHOLE_WARP = 0xffffffffu;

// ---- integers: wrapping -------------------------------------------------------------------------------------------

template <class T> struct Wide { typedef u32 type; };
template <> struct Wide<i64> { typedef u64 type; };
template <> struct Wide<u64> { typedef u64 type; };
template <class T> struct Unsigned { typedef T type; };
template <> struct Unsigned<i8> { typedef u8 type; };
template <> struct Unsigned<i16> { typedef u16 type; };
template <> struct Unsigned<i32> { typedef u32 type; };
template <> struct Unsigned<i64> { typedef u64 type; };

template <class T> DEVICE T add(T x, T y) { typedef typename Wide<T>::type W; return (T)((W)x + (W)y); }
template <class T> DEVICE T sub(T x, T y) { typedef typename Wide<T>::type W; return (T)((W)x - (W)y); }
template <class T> DEVICE T mul(T x, T y) { typedef typename Wide<T>::type W; return (T)((W)x * (W)y); }
template <class T> DEVICE T neg(T x) { return sub((T)0, x); }
template <class T> DEVICE bool is_unsigned() { return (T)-1 > (T)0; }

// truncating; min / -1 is min, min % -1 is 0
template <class T> DEVICE T quot(T x, T y) { return !is_unsigned<T>() && y == (T)-1 ? neg(x) : (T)(x / y); }
template <class T> DEVICE T rem(T x, T y) { return !is_unsigned<T>() && y == (T)-1 ? (T)0 : (T)(x % y); }
// long ones that are short in fact: indices, mostly
template <> __device__ __forceinline__ i64 quot<i64>(i64 x, i64 y) {
  if ((x | y) >> 32 == 0) return (i64)((u32)x / (u32)y);
  return y == -1 ? neg(x) : x / y;
}
template <> __device__ __forceinline__ i64 rem<i64>(i64 x, i64 y) {
  if ((x | y) >> 32 == 0) return (i64)((u32)x % (u32)y);
  return y == -1 ? 0 : x % y;
}
// rounding to minus infinity
template <class T> DEVICE T floor_div(T x, T y) {
  T q = quot(x, y);
  return rem(x, y) != 0 && (x < 0) != (y < 0) ? (T)(q - 1) : q;
}
template <class T> DEVICE T floor_mod(T x, T y) {
  T r = rem(x, y);
  return r != 0 && (r < 0) != (y < 0) ? (T)(r + y) : r;
}
template <class T> DEVICE T power(T x, T n) {
  T result = 1;
  for (; n > 0; n = (T)(n >> 1)) {
    if (n & 1) result = mul(result, x);
    x = mul(x, x);
  }
  return result;
}
template <class T> DEVICE T least(T x, T y) { return x <= y ? x : y; }
template <class T> DEVICE T greatest(T x, T y) { return x >= y ? x : y; }
template <class T> DEVICE T absolute(T x) { return x < 0 ? neg(x) : x; }
template <class T> DEVICE T sign(T x) { return (T)((x > 0) - (x < 0)); }

// amounts count as unsigned; the width or more gives 0, or the sign
template <class T> DEVICE bool too_far(T n) { return (typename Unsigned<T>::type)n >= 8 * sizeof(T); }
template <class T> DEVICE T shift_left(T x, T n) {
  return too_far(n) ? (T)0 : (T)((typename Wide<T>::type)x << n);
}
template <class T> DEVICE T shift_right(T x, T n) { return too_far(n) ? (T)(x < 0 ? -1 : 0) : (T)(x >> n); }
template <class T> DEVICE T shift_right_logical(T x, T n) {
  return too_far(n) ? (T)0 : (T)((typename Unsigned<T>::type)x >> n);
}
template <class T> DEVICE u64 bits_of(T x) { return (u64)(typename Unsigned<T>::type)x; }
template <class T> DEVICE i32 popcount(T x) { return sizeof(T) < 8 ? __popc((u32)bits_of(x)) : __popcll(bits_of(x)); }
template <class T> DEVICE i32 leading_zeros(T x) {
  return sizeof(T) < 8 ? __clz((u32)bits_of(x)) - (32 - 8 * (i32)sizeof(T)) : __clzll(bits_of(x));
}
template <class T> DEVICE i32 trailing_zeros(T x) {
  const i32 first = sizeof(T) < 8 ? __ffs((u32)bits_of(x)) : __ffsll(bits_of(x));
  return first == 0 ? 8 * (i32)sizeof(T) : first - 1;
}
template <class T> DEVICE T mul_high(T x, T y) {
  if (sizeof(T) < 8) return (T)((is_unsigned<T>() ? (u64)x * (u64)y : (u64)((i64)x * (i64)y)) >> (8 * sizeof(T) & 63));
  u64 high = __umul64hi((u64)x, (u64)y);
  return (T)(is_unsigned<T>() ? high : high - (x < 0 ? (u64)y : 0) - (y < 0 ? (u64)x : 0));
}

// ---- floats --------------------------------------------------------------------------------------------------------

template <class To, class From> DEVICE To bit_cast(From x) {
  union { From from; To to; } u;
  u.from = x;
  return u.to;
}
DEVICE bool negative(f32 x) { return bit_cast<u32>(x) >> 31; }
DEVICE bool negative(f64 x) { return bit_cast<u64>(x) >> 63; }
template <class T> DEVICE bool is_nan(T x) { return x != x; }
DEVICE f32 infinity(f32) { return bit_cast<f32>(0x7f800000u); }
DEVICE f64 infinity(f64) { return bit_cast<f64>(0x7ff0000000000000ull); }
template <class T> DEVICE bool is_inf(T x) { return x == infinity(x) || x == -infinity(x); }
// the other operand where one is nan; +0 above -0
#ifdef EMULATED
template <class T> DEVICE T float_min(T x, T y) {
  return x < y || is_nan(y) ? x : y < x || is_nan(x) ? y : negative(x) ? x : y;
}
template <class T> DEVICE T float_max(T x, T y) {
  return x > y || is_nan(y) ? x : y > x || is_nan(x) ? y : negative(x) ? y : x;
}
#else
DEVICE f32 float_min(f32 x, f32 y) { return fminf(x, y); }
DEVICE f64 float_min(f64 x, f64 y) { return fmin(x, y); }
DEVICE f32 float_max(f32 x, f32 y) { return fmaxf(x, y); }
DEVICE f64 float_max(f64 x, f64 y) { return fmax(x, y); }
#endif
template <class T> DEVICE T float_sign(T x) { return is_nan(x) ? x : (T)((x > 0) - (x < 0)); }
DEVICE f32 float_rem(f32 x, f32 y) { return fmodf(x, y); }
DEVICE f64 float_rem(f64 x, f64 y) { return fmod(x, y); }
DEVICE f32 with_sign(f32 x, f32 y) { return copysignf(x, y); }
DEVICE f64 with_sign(f64 x, f64 y) { return copysign(x, y); }
// of the sign of the divisor
template <class T> DEVICE T float_mod(T x, T y) {
  if (y == 0 || is_inf(x) || is_nan(x) || is_nan(y)) return bit_cast<f32>(0x7fc00000u);
  T r = float_rem(x, y);
  if (r == 0) return with_sign((T)0, y);
  return (r < 0) != (y < 0) ? r + y : r;
}

// halves: sums and products by instructions of their own; what has none is computed in f32, which has more than twice
// their digits, and rounded to the nearest, ties to even
#ifdef EMULATED
DEVICE f64 widest(f16 x) {
  u64 sign = (u64)(x.bits >> 15) << 63, exponent = (x.bits >> 10) & 31, fraction = x.bits & 1023;
  if (exponent == 31) return bit_cast<f64>(sign | 0x7ff0000000000000ull | fraction << 42);
  if (exponent == 0) {
    f64 tiny = (f64)fraction * 5.9604644775390625e-08;
    return sign ? -tiny : tiny;
  }
  return bit_cast<f64>(sign | (exponent + 1008) << 52 | fraction << 42);
}
DEVICE void round_to(f16 &to, f64 x) {
  u64 bits = bit_cast<u64>(x);
  u16 sign = (u16)(bits >> 48 & 0x8000);
  i64 exponent = (i64)(bits >> 52 & 2047) - 1023;
  u64 fraction = bits & 0xfffffffffffffull;
  if (exponent == 1024) return (void)(to.bits = (u16)(sign | 0x7c00 | (fraction ? 0x200 | fraction >> 42 : 0)));
  if (exponent > 15) return (void)(to.bits = (u16)(sign | 0x7c00));
  if (exponent < -25) return (void)(to.bits = sign);
  u64 whole = fraction | 1ull << 52;
  i32 drop = exponent >= -14 ? 42 : (i32)(28 - exponent);
  u64 kept = whole >> drop, rest = whole & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  u64 base = exponent >= -14 ? ((u64)(exponent + 14) << 10) : 0;
  to.bits = (u16)(sign | (base + kept));
}

DEVICE f32 wide(f16 x) { return (f32)widest(x); }
DEVICE void round_to(f16 &to, f32 x) { round_to(to, (f64)x); }
#else
DEVICE f32 wide(f16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
DEVICE void round_to(f16 &to, f32 x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
DEVICE void round_to(f16 &to, f64 x) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(to.bits) : "d"(x)); }
#endif
#if __CUDA_ARCH__ >= 800
DEVICE void round_to(bf16 &to, f32 x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
#else
DEVICE void round_to(bf16 &to, f32 x) {
  const u32 bits = bit_cast<u32>(x);
  to.bits = is_nan(x) ? 0x7fc0 : (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#endif
DEVICE f32 wide(bf16 x) { return bit_cast<f32>((u32)x.bits << 16); }
// by way of an f32 with less digits, rounded to odd
DEVICE void round_to(bf16 &to, f64 x) {
  const u64 bits = bit_cast<u64>(x), lost = (1ull << 42) - 1;
  round_to(to, (f32)bit_cast<f64>((bits & ~lost) | (bits & lost ? lost + 1 : 0)));
}
template <class H> DEVICE H half_of(f32 x) { H to; round_to(to, x); return to; }
template <class H> DEVICE H half_of(f64 x) { H to; round_to(to, x); return to; }
#if defined(EMULATED) || __CUDA_ARCH__ < 800
// a sum that a second rounding makes what one would: the last digit of one that is not exact is odd
DEVICE f64 sum_to_odd(f64 x, f64 y) {
  const f64 total = x + y, back = total - x, lost = (x - (total - back)) + (y - back);
  const u64 bits = bit_cast<u64>(total);
  if (!(lost < 0 || lost > 0) || bits & 1) return total;
  return bit_cast<f64>((lost > 0) == (total > 0) ? bits + 1 : bits - 1);
}
template <class H> DEVICE H half_fma(H x, H y, H z) { return half_of<H>(sum_to_odd((f64)wide(x) * wide(y), wide(z))); }
template <class H> DEVICE H half_add(H x, H y) { return half_of<H>(wide(x) + wide(y)); }
template <class H> DEVICE H half_sub(H x, H y) { return half_of<H>(wide(x) - wide(y)); }
template <class H> DEVICE H half_mul(H x, H y) { return half_of<H>(wide(x) * wide(y)); }
#else
DEVICE bf16 half_fma(bf16 x, bf16 y, bf16 z) {
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(z.bits) : "h"(x.bits), "h"(y.bits), "h"(z.bits));
  return z;
}
DEVICE bf16 half_add(bf16 x, bf16 y) { return half_fma(x, bf16{0x3f80}, y); }
DEVICE bf16 half_sub(bf16 x, bf16 y) { return half_fma(y, bf16{0xbf80}, x); }
DEVICE bf16 half_mul(bf16 x, bf16 y) { return half_fma(x, y, bf16{0x8000}); }
#endif
#ifndef EMULATED
DEVICE f16 half_fma(f16 x, f16 y, f16 z) {
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(z.bits) : "h"(x.bits), "h"(y.bits), "h"(z.bits));
  return z;
}
#define HALF(name, instruction) \
  DEVICE f16 name(f16 x, f16 y) { \
    asm(instruction " %0, %1, %2;" : "=h"(x.bits) : "h"(x.bits), "h"(y.bits)); \
    return x; \
  }
HALF(half_add, "add.rn.f16")
HALF(half_sub, "sub.rn.f16")
HALF(half_mul, "mul.rn.f16")
#endif
DEVICE u16 quiet_nan(f16) { return 0x7e00; }
DEVICE u16 quiet_nan(bf16) { return 0x7fc0; }
template <class H> DEVICE u16 half_bits(H x) { return is_nan(wide(x)) ? quiet_nan(x) : x.bits; }
template <class H> DEVICE H half_after(H x, H y) {
  f32 from = wide(x), to = wide(y);
  if (is_nan(from) || is_nan(to)) return H{quiet_nan(x)};
  if (from == to) return y;
  if (from == 0) return H{(u16)((y.bits & 0x8000) | 1)};
  return H{(u16)((from < to) == (from > 0) ? x.bits + 1 : x.bits - 1)};
}
// an integer as an f64 that rounds on as the integer would: to odd, where it does not fit
template <class T> DEVICE f64 to_odd(T x) {
  bool below = !is_unsigned<T>() && x < 0;
  u64 size = below ? 0 - (u64)x : (u64)x;
  if (size >> 53 && size & 0x7ff) size = (size & ~0x7ffull) | 0x800;
  return below ? -(f64)size : (f64)size;
}

// ---- conversions: to integers nan and infinities give 0, the rest saturates ----------------------------------------

#ifndef EMULATED
// signed ones of 32 bits and more: the hardware's conversions saturate
template <class T> DEVICE T to_int(f32 x) {
  if (is_unsigned<T>() || sizeof(T) < 4) return to_int<T>((f64)x);
  if (is_nan(x) || is_inf(x)) return 0;
  return sizeof(T) == 4 ? (T)__float2int_rz(x) : (T)__float2ll_rz(x);
}
#endif
template <class T> DEVICE T to_int(f64 x) {
  if (is_nan(x) || is_inf(x)) return 0;
  const i32 bits = 8 * sizeof(T);
  const f64 half = (f64)(1ull << (bits - 1));
  if (x <= -half) return (T)(1ull << (bits - 1));
  if (is_unsigned<T>()) return x >= 2 * half ? (T)~0ull : x < 0 ? (T)(i64)x : (T)(u64)x;
  return x >= half ? (T)((1ull << (bits - 1)) - 1) : (T)(i64)x;
}

// ---- failures: the first one is recorded, site + 1 and the values of its message -----------------------------------

DEVICE u64 record_word(f64 x) { return bit_cast<u64>(x); }
DEVICE u64 record_word(f32 x) { return bit_cast<u64>((f64)x); }
DEVICE u64 record_word(f16 x) { return record_word(wide(x)); }
DEVICE u64 record_word(bf16 x) { return record_word(wide(x)); }
template <class T> DEVICE u64 record_word(T x) { return (u64)(i64)x; }
template <class... Ts> DEVICE void fail(u64 *record, i32 site, Ts... values) {
  if (atomicCAS(record, 0ull, (u64)(i64)site) != 0) return;
  const u64 words[] = {0, record_word(values)...};
  for (i32 k = 1; k <= (i32)sizeof...(values) && k < 16; k++) record[k] = words[k];
}

// of kernels before this one; nullptr where none of them can
DEVICE bool has_failed(const u64 *before) { return before != nullptr && *before != 0; }

// ---- threads of a warp ---------------------------------------------------------------------------------------------

DEVICE i32 lane_id() { return threadIdx.x & 31; }
DEVICE i32 warp_id() { return threadIdx.x >> 5; }
// a place in shared memory, where runs of neighbours that threads walk along are to begin in different banks
DEVICE i32 with_gaps(i32 at) { return at + (at >> 5); }
// bits of a value as what the hardware can exchange
template <class T> struct Bits { typedef i32 type; };
template <> struct Bits<i64> { typedef i64 type; };
template <> struct Bits<u64> { typedef i64 type; };
template <> struct Bits<f32> { typedef f32 type; };
template <> struct Bits<f64> { typedef f64 type; };
template <class T> DEVICE typename Bits<T>::type to_bits(T x) { return (typename Bits<T>::type)x; }
DEVICE i32 to_bits(f16 x) { return x.bits; }
DEVICE i32 to_bits(bf16 x) { return x.bits; }
template <class T> DEVICE void from_bits(T &x, typename Bits<T>::type bits) { x = (T)bits; }
DEVICE void from_bits(f16 &x, i32 bits) { x.bits = (u16)bits; }
DEVICE void from_bits(bf16 &x, i32 bits) { x.bits = (u16)bits; }
template <class T> DEVICE T value_below(T x, i32 distance) {
  T y;
  from_bits(y, __shfl_down_sync(WHOLE_WARP, to_bits(x), distance));
  return y;
}
template <class T> DEVICE T value_above(T x, i32 distance) {
  T y;
  from_bits(y, __shfl_up_sync(WHOLE_WARP, to_bits(x), distance));
  return y;
}
template <class T> DEVICE T value_at(T x, i32 lane) {
  T y;
  from_bits(y, __shfl_sync(WHOLE_WARP, to_bits(x), lane));
  return y;
}
// of the lanes of the warp with this key, how many stand before this one
DEVICE i32 turn_of(i64 key) { return __popc(__match_any_sync(WHOLE_WARP, key) & ((1u << lane_id()) - 1)); }

// ---- products of small matrices, by a warp: fragments as `kernel_ir/fragments.py` lays them out -----------------------

// an f32 with 11 digits, ties away from zero
DEVICE f32 factor(f32 x) { return is_nan(x) ? x : bit_cast<f32>((bit_cast<u32>(x) + 0x1000) & ~0x1fffu); }
template <class H> DEVICE f32 factor(H x) { return wide(x); }
#if defined(EMULATED) || __CUDA_ARCH__ < 800
// a row and a column, as one number: where the bits of a lane and of a register lead to
struct Led { i32 row, column; };
template <i32 n> DEVICE Led led(const Led (&bits)[n], i32 number) {
  Led to = {0, 0};
  for (i32 k = 0; k < n; k++)
    if (number >> k & 1) to.row += bits[k].row, to.column += bits[k].column;
  return to;
}
// each lane collects the matrices from all lanes, and adds to what it holds of the sum
template <i32 depth, class T, i32 l, i32 r, i32 s>
DEVICE void mma(f32 *sum, const T *left, const T *right, const Led (&left_bits)[l], const Led (&right_bits)[r],
                const Led (&sum_bits)[s]) {
  f32 rows[16][depth], columns[depth][8];
  for (i32 lane = 0; lane < 32; lane++) {
    for (i32 k = 0; k < 1 << (l - 5); k++) {
      const Led at = led(left_bits, lane | k << 5);
      rows[at.row][at.column] = factor(value_at(left[k], lane));
    }
    for (i32 k = 0; k < 1 << (r - 5); k++) {
      const Led at = led(right_bits, lane | k << 5);
      columns[at.row][at.column] = factor(value_at(right[k], lane));
    }
  }
  for (i32 c = 0; c < 1 << (s - 5); c++) {
    const Led at = led(sum_bits, lane_id() | c << 5);
    for (i32 k = 0; k < depth; k++) sum[c] = fmaf(rows[at.row][k], columns[k][at.column], sum[c]);
  }
}
// each lane names a row; the elements of a matrix go to the lanes as `MATRICES` says, transposed if `across`
template <bool across, class T, i32 n, i32 l>
DEVICE void take_matrices(T (&held)[n], const T *row, const Led (&bits)[l]) {
  constexpr i32 each = 4 / sizeof(T);
#ifdef EMULATED
  emulator::must_be_aligned(row, 16);
#endif
  for (i32 k = 0; k < n; k++) {
    const Led at = led(bits, lane_id() | k % each << 5);
    const T *there = (const T *)value_at((i64)row, k / each * 8 + (across ? at.column : at.row));
    held[k] = there[across ? at.row : at.column];
  }
}
// MMA
#else
template <class H> DEVICE void unpack(H *x, u32 word) { x[0].bits = (u16)word, x[1].bits = (u16)(word >> 16); }
DEVICE void unpack(f32 *x, u32 word) { x[0] = bit_cast<f32>(word); }
template <bool across, class T, i32 n> DEVICE void load_matrices(T (&held)[n], const T *row) {
  constexpr i32 each = 4 / sizeof(T), count = n / each;
  static_assert(count == 2 || count == 4, "two or four matrices");
  const u32 place = (u32)__cvta_generic_to_shared(row);
  u32 a, b, c, d;
  if (count == 4 && across)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(place) : "memory");
  else if (count == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(place) : "memory");
  else if (across)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(a), "=r"(b) : "r"(place) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(place) : "memory");
  unpack(held, a), unpack(held + each, b);
  if (count == 4) unpack(held + n / 2, c), unpack(held + n / 2 + each, d);
}
template <class H> DEVICE u32 pair(const H *x) { return x[0].bits | (u32)x[1].bits << 16; }
#define MMA_HALF(H, instruction) \
  DEVICE void mma(f32 *d, const H *a, const H *b) { \
    asm volatile("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(pair(a)), "r"(pair(a + 2)), "r"(pair(a + 4)), "r"(pair(a + 6)), "r"(pair(b)), "r"(pair(b + 2))); \
  }
MMA_HALF(f16, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_HALF(bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
DEVICE u32 tf32(f32 x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
DEVICE void mma(f32 *d, const f32 *a, const f32 *b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(tf32(a[0])), "r"(tf32(a[1])), "r"(tf32(a[2])), "r"(tf32(a[3])), "r"(tf32(b[0])), "r"(tf32(b[1])));
}
#endif

// ---- atomics -------------------------------------------------------------------------------------------------------

// any operation; those that the hardware has are called by their own names
template <i32 bytes> struct Word { typedef u32 type; };
template <> struct Word<1> { typedef u8 type; };
template <> struct Word<2> { typedef u16 type; };
template <> struct Word<8> { typedef u64 type; };
template <class T, class Op> DEVICE T update_word(T *place, Op op) {
  typedef typename Word<sizeof(T)>::type W;
  W seen = *(volatile W *)place, expected;
  do {
    expected = seen;
    seen = atomicCAS((W *)place, expected, bit_cast<W>(op(bit_cast<T>(expected))));
  } while (seen != expected);
  return bit_cast<T>(expected);
}
// one of 1 or 2 bytes, by way of the word that it lies in
template <class T, class Op> DEVICE T update_part(T *place, Op op) {
  const u32 shift = 8 * (u32)((u64)place & 3), mask = ((1u << 8 * sizeof(T)) - 1) << shift;
  typedef typename Word<sizeof(T)>::type P;
  const u32 old = update_word((u32 *)((u64)place & ~3ull), [&](u32 word) -> u32 {
    return (word & ~mask) | (u32)bit_cast<P>(op(bit_cast<T>((P)((word & mask) >> shift)))) << shift;
  });
  return bit_cast<T>((P)((old & mask) >> shift));
}
template <i32 bytes> struct Update {
  template <class T, class Op> DEVICE T run(T *place, Op op) { return update_word(place, op); }
};
template <> struct Update<2> {
  template <class T, class Op> DEVICE T run(T *place, Op op) { return update_part(place, op); }
};
template <> struct Update<1> {
  template <class T, class Op> DEVICE T run(T *place, Op op) { return update_part(place, op); }
};
// the old value
template <class T, class Op> DEVICE T atomic_update(T *place, Op op) { return Update<sizeof(T)>::run(place, op); }

// ---- memory of a block and of its threads beyond registers: stacks, the block's in shared memory as far as it goes ----

struct Memory {
  char *global;                // for each collective: block_size bytes, then thread_size for each of its threads
  i64 block_size, thread_size;
  i64 shared_size;             // of each collective, too
};
#ifdef EMULATED
#define DYNAMIC_SHARED_MEMORY char *shared_memory = emulator::dynamic_shared
#else
#define DYNAMIC_SHARED_MEMORY extern __shared__ __align__(16) char shared_memory[]
#endif
struct Stack {
  char *shared, *global;
  i64 shared_left, global_left;
};
// the number of a collective of `threads` threads, of which a block may have several
template <i32 threads> DEVICE i64 collective() {
  return (i64)blockIdx.x * (blockDim.x / threads) + threadIdx.x / threads;
}
template <i32 threads> DEVICE Stack block_stack(const Memory &memory, char *shared) {
  char *mine = memory.global + collective<threads>() * (memory.block_size + threads * memory.thread_size);
  char *near = shared + threadIdx.x / threads * memory.shared_size;
  return Stack{near, mine, memory.shared_size, memory.block_size};
}
// the stack of a thread: its words of `width` bytes lie between those of its neighbours, so that what `lanes` threads
// have at one index is side by side; no word is of two threads, whatever these keep in it. `taken`: words
struct OwnStack {
  char *words;
  u32 taken;
};
template <i32 threads, i32 width, i32 lanes> DEVICE OwnStack thread_stack(const Memory &memory) {
  char *block = memory.global + collective<threads>() * (memory.block_size + threads * memory.thread_size);
  const i64 me = threadIdx.x % threads;
  return OwnStack{block + memory.block_size + me / lanes * (lanes * memory.thread_size) + me % lanes * width, 0};
}
// an array on it, from its word `first` on, which is NOWHERE if there was too little room; a word has `each` elements
constexpr u32 NOWHERE = 0xffffffffu;
template <class T, i32 width, i32 lanes = 32> struct Own {
  char *words;
  u32 first;
  __device__ __forceinline__ T &operator[](i64 i) const {
    constexpr u32 each = width / sizeof(T);
    char *word = words + (u64)(first + (u32)i / each) * (lanes * width);
    return *(T *)(word + (u32)i % each * sizeof(T));
  }
};
// where all arrays of a block are in shared memory, the first byte that none has
template <i32 threads> DEVICE i32 near_stack(const Memory &memory) {
  return (i32)threadIdx.x / threads * (i32)memory.shared_size;
}
DEVICE i64 whole_units(i64 bytes) { return (greatest<i64>(bytes, 1) + 15) & ~15ll; }
// nullptr where there is not enough
DEVICE char *take(Stack &stack, i64 bytes) {
  bytes = whole_units(bytes);
  if (bytes <= stack.shared_left) {
    char *taken = stack.shared;
    stack.shared += bytes, stack.shared_left -= bytes;
    return taken;
  }
  if (bytes > stack.global_left) return nullptr;
  char *taken = stack.global;
  stack.global += bytes, stack.global_left -= bytes;
  return taken;
}
// the first word of an array of a thread; NOWHERE likewise
template <i32 width> DEVICE u32 take_own(const Memory &memory, OwnStack &stack, i64 bytes) {
  bytes = whole_units(bytes);
  if (bytes > memory.thread_size - (i64)stack.taken * width) return NOWHERE;
  const u32 first = stack.taken;
  stack.taken += (u32)(bytes / width);
  return first;
}
// there is enough: the host has computed it
template <i32 width> DEVICE u32 next_own(const Memory &memory, OwnStack &stack, i64 bytes) {
  const u32 first = stack.taken;
  stack.taken += (u32)(whole_units(bytes) / width);
#ifdef EMULATED
  if ((i64)stack.taken * width > memory.thread_size) abort();
#endif
  return first;
}
// likewise
template <i32 threads> DEVICE i32 take_near(const Memory &memory, i32 &first, i64 bytes) {
  const i32 taken = first;
  first += (i32)whole_units(bytes);
#ifdef EMULATED
  if (first > near_stack<threads>(memory) + memory.shared_size) abort();
#endif
  return taken;
}

// the size with which a stack of this size would have had enough
DEVICE i64 lacking(i64 size, const Stack &stack, i64 bytes) { return size - stack.global_left + whole_units(bytes); }
template <i32 width> DEVICE i64 lacking(const OwnStack &stack, i64 bytes) {
  return (i64)stack.taken * width + whole_units(bytes);
}

// ---- rows of elements in one access ----------------------------------------------------------------------------------

template <class T, i32 n> struct alignas(n * sizeof(T)) Row { T at[n]; };
template <i32 n, class T> DEVICE bool is_aligned(const T *place) { return ((u64)place & (n * sizeof(T) - 1)) == 0; }
template <i32 n, class T> DEVICE Row<T, n> load_row(const T *place) { return *(const Row<T, n> *)place; }
template <i32 n, class T> DEVICE void store_row(T *place, Row<T, n> row) { *(Row<T, n> *)place = row; }

// ---- order between blocks: flags -------------------------------------------------------------------------------------

constexpr i32 SUM = 1, TOTAL = 2, FAILED = -1;
#ifdef EMULATED
DEVICE void publish(i32 *flag, i32 value) { *flag = value; }
DEVICE i32 acquire(const i32 *flag) { return emulator::pause(), *(const volatile i32 *)flag; }
#else
DEVICE void publish(i32 *flag, i32 value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
DEVICE i32 acquire(const i32 *flag) {
  i32 seen;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  return seen;
}
#endif
// before looking again: at once at first, then so that others get on
DEVICE void nap(u32 looks) {
#ifndef EMULATED
  if (looks >= 4) __nanosleep(looks < 16 ? 20 : 100);
#endif
}
// the flag, once it is at least `least`; FAILED where some block has failed, since others may then wait in vain
DEVICE i32 wait_for(const i32 *flag, i32 least, const u64 *failures) {
  i32 seen;
  for (u32 looks = 0; (seen = acquire(flag)) < least; looks++) {
    if (*(const volatile u64 *)failures != 0) return FAILED;
    nap(looks);
  }
  return seen;
}

// ---- order between blocks: words of 8 or 16 bytes that are there at once, each a status and values -------------------

#ifdef EMULATED
template <class T> DEVICE void post(T *place, T tile) { *place = tile; }
template <class T> DEVICE T posted(const T *place) { return emulator::pause(), *place; }
#else
template <class T> union AsWords {
  T tile;
  u64 at[sizeof(T) / 8];
};
template <class T> DEVICE void post(T *place, T tile) {
  AsWords<T> words;
  words.tile = tile;
  if (sizeof(T) == 8) asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(words.at[0]) : "memory");
  for (i32 k = 1; k < (i32)sizeof(T) / 8; k += 2)
    asm volatile("{ .reg .b128 word; mov.b128 word, {%1, %2}; st.relaxed.gpu.global.b128 [%0], word; }" ::"l"(
                     (u64 *)place + k - 1), "l"(words.at[k - 1]), "l"(words.at[k]) : "memory");
}
// words that were posted together
template <class T> DEVICE T posted(const T *place) {
  AsWords<T> words;
  bool together = true;
  if (sizeof(T) == 8) asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words.at[0]) : "l"(place) : "memory");
  do {
    together = true;
    for (i32 k = 1; k < (i32)sizeof(T) / 8; k += 2) {
      asm volatile("{ .reg .b128 word; ld.relaxed.gpu.global.b128 word, [%2]; mov.b128 {%0, %1}, word; }"
                   : "=l"(words.at[k - 1]), "=l"(words.at[k]) : "l"((const u64 *)place + k - 1) : "memory");
      together = together && (i32)words.at[k - 1] == (i32)words.at[0];
    }
  } while (!together);
  return words.tile;
}
#endif
// what a tile has posted, as soon as that is something; FAILED where some block has failed
template <class T> DEVICE T wait_for(const T *place, const u64 *failures) {
  for (u32 looks = 0;; looks++) {
    T seen = posted(place);
    if (seen.status != 0) return seen;
    seen.status = FAILED;
    if (*(const volatile u64 *)failures != 0) return seen;
    nap(looks);
  }
}

// ---- copies to shared memory that go on while the thread does ----------------------------------------------------------

#ifdef EMULATED
template <i32 n = 1, class T> DEVICE void copy_later(T *to, const T *from) {
  emulator::copy_later(to, from, n * sizeof(T));
}
DEVICE void commit_copies() { emulator::commit_copies(); }
template <i32 latest> DEVICE void wait_for_copies() { emulator::wait_for_copies(latest); }
#else
template <i32 n = 1, class T> DEVICE void copy_later(T *to, const T *from) {
  constexpr u32 size = n * sizeof(T);
  static_assert(size == 4 || size == 8 || size == 16, "cp.async copies words of 4, 8 and 16 bytes");
  const u32 place = (u32)__cvta_generic_to_shared(to);
  if (size == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(size < 16 ? size : 4) : "memory");
}
DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <i32 latest> DEVICE void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(latest) : "memory"); }
#endif
