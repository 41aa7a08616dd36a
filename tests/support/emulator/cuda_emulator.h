// CUDA C kernels on the CPU, as they are: a fiber for each thread of a block, barriers and shuffles that really wait,
// threads in ascending, descending or random order, shared memory filled with rubbish before every block. Blocks begin in
// ascending order; of those that may wait for each other several are under way at once. An asynchronous copy happens at
// once in ascending order, else when it is waited for. What has no meaning in C, such as a sum that overflows, is a
// problem: the compiler for a GPU relies on its absence; and so is an access that is not aligned, which ends a context.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define EMULATED
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __shared__ static __attribute__((section("emulated_shared")))

struct Index { unsigned x, y, z; };
static Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

enum State { READY, AT_BARRIER, AT_EXCHANGE, DONE };
struct Copy {
  void *to;
  const void *from;
  int size, group;
};
struct Fiber {
  jmp_buf at;  // where it waits, once it has begun
  bool begun;
  State state;
  int line;                 // of the barrier it waits at
  unsigned long long slot;  // what it shows to its warp
  int exchange;             // by what
  bool paused;              // it looked at a flag that was not set
  bool vote, voted;         // what it brought to a barrier, and what all brought
  Copy *copies;
  int copied, room, groups;
};

constexpr int MOST = 1024, RESIDENT = 4, STACK = 1 << 16, DYNAMIC = 227 << 10, PATIENCE = 20000;
struct Block {
  Fiber fibers[MOST];
  long long number;  // -1: free
  char *shared;      // its shared memory while another block runs
};
static Block blocks[RESIDENT], *here;
static Fiber *fibers;
static char *stacks;
static jmp_buf scheduler;
static int current, count, mode;
static unsigned random_state;
static void (*body)();
static char problem[200];
alignas(64) static char dynamic_shared[DYNAMIC];
extern "C" char __start_emulated_shared[] __attribute__((weak)), __stop_emulated_shared[] __attribute__((weak));

static unsigned random_number() {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}
// A fiber is made once and then executes block after block. Jumps change from one to another: other than
// `swapcontext`, they do not ask the kernel for the mask of signals each time.
static void leave_fiber() {
  if (!_setjmp(fibers[current].at)) _longjmp(scheduler, 1);
}
static void run_fiber() {
  for (;;) {
    body();
    fibers[current].state = DONE;
    leave_fiber();
  }
}
static void begin_fiber(int fiber) {
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stacks + ((size_t)(here - blocks) * MOST + fiber) * STACK;
  context.uc_stack.ss_size = STACK;
  context.uc_link = nullptr;
  makecontext(&context, run_fiber, 0);
  fibers[fiber].begun = true;
  setcontext(&context);
}
static void resume(int fiber) {
  current = fiber;
  threadIdx.x = fiber;
  if (_setjmp(scheduler)) return;
  if (fibers[fiber].begun) _longjmp(fibers[fiber].at, 1);
  begin_fiber(fiber);
}
static void wait_as(State state) {
  fibers[current].state = state;
  leave_fiber();
}
static void start(int fiber) {
  Fiber &f = fibers[fiber];
  f.state = READY, f.paused = false, f.groups = 0, f.copied = 0;
}
// after a launch whose threads wait in vain
static int given_up() {
  for (Block &block : blocks)
    for (Fiber &f : block.fibers) f.begun = false;
  return 1;
}

// threads of a warp go on when all that are not done have come
static bool release_warp(int w) {
  int waiting = 0, done = 0, end = w + 32 < count ? w + 32 : count;
  int exchange = 0;
  for (int i = w; i < end; i++) {
    done += fibers[i].state == DONE;
    if (fibers[i].state != AT_EXCHANGE) continue;
    if (waiting++ && fibers[i].exchange != exchange && !problem[0])
      snprintf(problem, sizeof problem, "block %u: threads of a warp meet at different exchanges", blockIdx.x);
    exchange = fibers[i].exchange;
  }
  if (!waiting || waiting + done != end - w) return false;
  for (int i = w; i < end; i++)
    if (fibers[i].state == AT_EXCHANGE) fibers[i].state = READY;
  return true;
}
static bool release_warps() {
  bool released = false;
  for (int w = 0; w < count; w += 32) released |= release_warp(w);
  return released;
}
static bool release_block() {
  int line = 0, waiting = 0, done = 0;
  for (int i = 0; i < count; i++) {
    done += fibers[i].state == DONE;
    if (fibers[i].state != AT_BARRIER) continue;
    if (waiting && fibers[i].line != line)
      snprintf(problem, sizeof problem, "block %u: threads meet at different barriers (lines %d and %d)", blockIdx.x,
               line, fibers[i].line);
    line = fibers[i].line;
    waiting++;
  }
  if (problem[0] || waiting + done != count || !waiting) return false;
  bool vote = false;
  for (int i = 0; i < count; i++) vote |= fibers[i].state == AT_BARRIER && fibers[i].vote;
  for (int i = 0; i < count; i++)
    if (fibers[i].state == AT_BARRIER) fibers[i].state = READY, fibers[i].voted = vote;
  return true;
}

static size_t static_bytes() { return __start_emulated_shared ? __stop_emulated_shared - __start_emulated_shared : 0; }
static void copy_shared(char *to_block, const char *from_block) {
  if (to_block) {
    memcpy(to_block, dynamic_shared, DYNAMIC);
    if (static_bytes()) memcpy(to_block + DYNAMIC, __start_emulated_shared, static_bytes());
  } else {
    memcpy(dynamic_shared, from_block, DYNAMIC);
    if (static_bytes()) memcpy(__start_emulated_shared, from_block + DYNAMIC, static_bytes());
  }
}
static void switch_to(Block *block) {
  if (here == block) return;
  if (here && here->number >= 0) copy_shared(here->shared, nullptr);
  here = block, fibers = block->fibers;
  blockIdx = {(unsigned)block->number, 0, 0};
  copy_shared(nullptr, block->shared);
}
static void begin(Block *block, long long number) {
  if (here && here->number >= 0) copy_shared(here->shared, nullptr);
  here = block, fibers = block->fibers, block->number = number;
  blockIdx = {(unsigned)number, 0, 0};
  memset(dynamic_shared, 0xcb, DYNAMIC);
  if (static_bytes()) memset(__start_emulated_shared, 0xcb, static_bytes());
  for (int i = 0; i < count; i++) start(i);
}

enum Round { WENT_ON, PAUSED, FINISHED, STUCK };
// every thread of the block that can goes on to where it waits; in order a warp goes on to where it waits for others,
// so that it is as far ahead of them as it can be
static Round run_round() {
  int order[MOST];
  for (int i = 0; i < count; i++) order[i] = mode == 1 ? count - 1 - i : i;
  if (mode >= 2)
    for (int i = count - 1; i > 0; i--) {
      int j = random_number() % (i + 1), other = order[i];
      order[i] = order[j], order[j] = other;
    }
  bool ran = false, paused = true;
  for (int first = 0; first < count;) {
    int warp = order[first] / 32, last = first, asleep = 0;
    for (; last < count && (mode >= 2 || order[last] / 32 == warp); last++) {
      Fiber &f = fibers[order[last]];
      if (f.state != READY) continue;
      f.paused = false, ran = true;
      resume(order[last]);
      const bool sleeps = f.paused && f.state == READY;
      asleep += sleeps, paused = paused && sleeps;
    }
    if (mode >= 2 || asleep || !release_warp(32 * warp)) first = last;
  }
  if (ran) return paused ? PAUSED : WENT_ON;
  if (release_warps() || release_block()) return WENT_ON;
  for (int i = 0; i < count; i++)
    if (fibers[i].state != DONE) {
      if (!problem[0])
        snprintf(problem, sizeof problem, "block %u: thread %d waits at line %d for threads that do not come",
                 blockIdx.x, i, fibers[i].line);
      return STUCK;
    }
  return FINISHED;
}

// 0, or 1 with a text in `problem`; order: 0 ascending, 1 descending, else a seed; the number of blocks at once
static int launch(void (*kernel)(), long long grid, int threads, int order, int resident) {
  if (!stacks) {
    stacks = (char *)malloc((size_t)RESIDENT * MOST * STACK);
    for (Block &block : blocks) block.shared = (char *)malloc(DYNAMIC + static_bytes());
  }
  body = kernel, count = threads, mode = order, random_state = order * 2654435761u + 1, problem[0] = 0;
  blockDim = {(unsigned)threads, 1, 1}, gridDim = {(unsigned)grid, 1, 1};
  here = nullptr;
  for (Block &block : blocks) block.number = -1;
  long long next = 0, left = grid;
  for (int waited = 0, slot = 0; left > 0;) {
    for (int k = 0; k < resident && next < grid; k++)
      if (blocks[k].number < 0) begin(&blocks[k], next++);
    slot = mode >= 2 ? random_number() % resident : (slot + 1) % resident;
    if (blocks[slot].number < 0) continue;
    switch_to(&blocks[slot]);
    Round round = WENT_ON;
    for (int more = 8; round == WENT_ON && (resident == 1 || more > 0); more--) round = run_round();
    waited = round == PAUSED ? waited + 1 : 0;
    if (round == STUCK) return given_up();
    if (round == FINISHED) here->number = -1, left--;
    if (problem[0]) return given_up();
    if (waited > PATIENCE) {
      snprintf(problem, sizeof problem, "block %u waits for a flag that no block sets", blockIdx.x);
      return given_up();
    }
  }
  return 0;
}
static bool barrier(int line, bool vote) {
  fibers[current].line = line, fibers[current].vote = vote;
  wait_as(AT_BARRIER);
  return fibers[current].voted;
}
// `value` shown to the warp, whose threads have all come for the same; the next `leave` ends that
enum Exchange { BARRIER, VOTE, MATCH, FROM, DOWN, UP };
static void show(unsigned long long value, int exchange) {
  fibers[current].slot = value, fibers[current].exchange = exchange;
  wait_as(AT_EXCHANGE);
}
static void leave() { wait_as(AT_EXCHANGE); }
static unsigned lanes_where(Exchange kind, unsigned long long value,
                            bool (*good)(unsigned long long, unsigned long long)) {
  show(value, kind);
  unsigned lanes = 0;
  int warp = current & ~31;
  for (int i = 0; i < 32 && warp + i < count; i++)
    if (fibers[warp + i].state != DONE && good(fibers[warp + i].slot, value)) lanes |= 1u << i;
  leave();
  return lanes;
}
template <class T> static T exchange(T value, int lane, int kind) {
  int warp = current & ~31;
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof value);
  show(bits, kind);
  T result;
  int from = warp + lane < count ? warp + lane : current;
  memcpy(&result, &fibers[from].slot, sizeof result);
  leave();
  return result;
}
// a look at a flag: others go on before the next one
static void pause() {
  fibers[current].paused = true;
  wait_as(READY);
}

// what the hardware asks of the place of an access
static void must_be_aligned(const void *place, size_t bytes) {
  if ((size_t)place % bytes && !problem[0])
    snprintf(problem, sizeof problem, "block %u: an access of %d bytes is not aligned", blockIdx.x, (int)bytes);
}
static void copy_later(void *to, const void *from, int size) {
  must_be_aligned(to, size), must_be_aligned(from, size);
  Fiber &f = fibers[current];
  if (mode == 0) {
    memcpy(to, from, size);
    return;
  }
  if (f.copied == f.room) f.copies = (Copy *)realloc(f.copies, (f.room = 2 * f.room + 16) * sizeof(Copy));
  f.copies[f.copied++] = Copy{to, from, size, f.groups};
}
static void commit_copies() { fibers[current].groups++; }
static void wait_for_copies(int latest) {
  Fiber &f = fibers[current];
  int later = 0;
  for (int k = 0; k < f.copied; k++)
    if (f.copies[k].group < f.groups - latest) memcpy(f.copies[k].to, f.copies[k].from, f.copies[k].size);
    else f.copies[later++] = f.copies[k];
  f.copied = later;
}

struct Place {
  const char *file;
  unsigned line, column;
};
static void undefined(const void *data, const char *what) {
  const unsigned line = ((const Place *)data)->line;
  if (!problem[0]) snprintf(problem, sizeof problem, "block %u: %s at line %u", blockIdx.x, what, line);
}

}  // namespace emulator

extern "C" const char *emulator_problem() { return emulator::problem; }

// what the compiler calls where it is asked to look (`FLAGS` of `driver.py`)
#define UNDEFINED(name, what, ...) \
  extern "C" __attribute__((visibility("hidden"))) void __ubsan_handle_##name(void *data, ##__VA_ARGS__) { \
    emulator::undefined(data, what); \
  }
UNDEFINED(add_overflow, "a sum overflows", void *, void *)
UNDEFINED(sub_overflow, "a difference overflows", void *, void *)
UNDEFINED(mul_overflow, "a product overflows", void *, void *)
UNDEFINED(negate_overflow, "a negation overflows", void *)
UNDEFINED(divrem_overflow, "a division by 0, or a quotient that overflows,", void *, void *)
UNDEFINED(shift_out_of_bounds, "a shift too far", void *, void *)
UNDEFINED(out_of_bounds, "an index outside of an array", void *)
UNDEFINED(type_mismatch_v1, "an access that is not aligned", void *)
UNDEFINED(load_invalid_value, "a bool that is neither true nor false", void *)
UNDEFINED(float_cast_overflow, "a float that does not fit an integer", void *)

#define __syncthreads() emulator::barrier(__LINE__, false)
#define __syncthreads_or(vote) emulator::barrier(__LINE__, vote)
static inline void __syncwarp() { emulator::show(0, emulator::BARRIER), emulator::leave(); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline unsigned __ballot_sync(unsigned, bool value) {
  return emulator::lanes_where(emulator::VOTE, value, [](unsigned long long x, unsigned long long) { return x != 0; });
}
static inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }
static inline unsigned __match_any_sync(unsigned, long long value) {
  return emulator::lanes_where(emulator::MATCH, value,
                               [](unsigned long long x, unsigned long long y) { return x == y; });
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(unsigned x) { return __builtin_ffs(x); }
static inline int __ffsll(unsigned long long x) { return __builtin_ffsll(x); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned __int128)x * y >> 64;
}
template <class T> static T __shfl_sync(unsigned, T value, int lane) {
  return emulator::exchange(value, lane, emulator::FROM);
}
template <class T> static T __shfl_down_sync(unsigned, T value, int distance) {
  int lane = emulator::current & 31;
  return emulator::exchange(value, lane + distance < 32 ? lane + distance : lane, emulator::DOWN + 8 * distance);
}
template <class T> static T __shfl_up_sync(unsigned, T value, int distance) {
  int lane = emulator::current & 31;
  return emulator::exchange(value, lane >= distance ? lane - distance : lane, emulator::UP + 8 * distance);
}
template <class T> static T atomicCAS(T *place, T expected, T value) {
  T old = *place;
  if (old == expected) *place = value;
  return old;
}
template <class T> static T atomicAdd(T *place, T x) { T old = *place; return *place = old + x, old; }
template <class T> static T atomicMin(T *place, T x) { T old = *place; return *place = x < old ? x : old, old; }
template <class T> static T atomicMax(T *place, T x) { T old = *place; return *place = x > old ? x : old, old; }
template <class T> static T atomicAnd(T *place, T x) { T old = *place; return *place = old & x, old; }
template <class T> static T atomicOr(T *place, T x) { T old = *place; return *place = old | x, old; }
template <class T> static T atomicXor(T *place, T x) { T old = *place; return *place = old ^ x, old; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
// Exact at multiples of 1/2, as CUDA's are.
static inline double sinpi(double x) {
  double r = fmod(fabs(x), 2.0);
  double y = r < 0.25 ? sin(M_PI * r) : r < 0.75 ? cos(M_PI * (r - 0.5)) : r < 1.25 ? sin(M_PI * (1.0 - r))
    : r < 1.75 ? -cos(M_PI * (r - 1.5)) : sin(M_PI * (r - 2.0));
  return copysign(1.0, x) * y;
}
static inline double cospi(double x) {
  double r = fmod(fabs(x), 2.0);
  return r < 0.25 ? cos(M_PI * r) : r < 0.75 ? sin(M_PI * (0.5 - r)) : r < 1.25 ? -cos(M_PI * (r - 1.0))
    : r < 1.75 ? sin(M_PI * (r - 1.5)) : cos(M_PI * (r - 2.0));
}
static inline float sinpif(float x) { return (float)sinpi((double)x); }
static inline float cospif(float x) { return (float)cospi((double)x); }
