// CUDA C kernels on the CPU, as they are: a fiber for each thread of a block, barriers and shuffles that really wait,
// threads in ascending, descending or random order, shared memory filled with rubbish before every block.
#pragma once
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define EMULATED
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __restrict__ __restrict
#define __shared__ static __attribute__((section("emulated_shared")))

struct Index { unsigned x, y, z; };
static Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

enum State { READY, AT_BARRIER, AT_EXCHANGE, DONE };
struct Fiber {
  ucontext_t context;
  State state;
  int line;                 // of the barrier it waits at
  unsigned long long slot;  // what it shows to its warp
};

constexpr int MOST = 1024, STACK = 1 << 16, DYNAMIC = 1 << 16;
static Fiber fibers[MOST];
static char *stacks;
static ucontext_t scheduler;
static int current, count, mode;
static unsigned random_state;
static void (*body)();
static char problem[200];
static long long switches;
alignas(64) static char dynamic_shared[DYNAMIC];
extern "C" char __start_emulated_shared[] __attribute__((weak)), __stop_emulated_shared[] __attribute__((weak));

static unsigned random_number() {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}
static void resume(int fiber) {
  current = fiber;
  threadIdx.x = fiber;
  switches++;
  swapcontext(&scheduler, &fibers[fiber].context);
}
static void wait_as(State state) {
  int me = current;
  fibers[me].state = state;
  swapcontext(&fibers[me].context, &scheduler);
}
static void run_fiber() {
  body();
  fibers[current].state = DONE;
  setcontext(&scheduler);
}
static void start(int fiber) {
  Fiber &f = fibers[fiber];
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = stacks + (size_t)fiber * STACK;
  f.context.uc_stack.ss_size = STACK;
  f.context.uc_link = nullptr;
  makecontext(&f.context, run_fiber, 0);
  f.state = READY;
}

// threads of a warp go on when all that are not done have come
static bool release_warps() {
  bool released = false;
  for (int w = 0; w < count; w += 32) {
    int waiting = 0, done = 0, end = w + 32 < count ? w + 32 : count;
    for (int i = w; i < end; i++) waiting += fibers[i].state == AT_EXCHANGE, done += fibers[i].state == DONE;
    if (waiting && waiting + done == end - w) {
      released = true;
      for (int i = w; i < end; i++)
        if (fibers[i].state == AT_EXCHANGE) fibers[i].state = READY;
    }
  }
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
  for (int i = 0; i < count; i++)
    if (fibers[i].state == AT_BARRIER) fibers[i].state = READY;
  return true;
}

static bool run_block() {
  if (__start_emulated_shared)
    memset(__start_emulated_shared, 0xcb, __stop_emulated_shared - __start_emulated_shared);
  memset(dynamic_shared, 0xcb, sizeof dynamic_shared);
  int order[MOST];
  for (int i = 0; i < count; i++) {
    order[i] = mode == 1 ? count - 1 - i : i;
    start(i);
  }
  for (;;) {
    if (mode >= 2)
      for (int i = count - 1; i > 0; i--) {
        int j = random_number() % (i + 1), other = order[i];
        order[i] = order[j], order[j] = other;
      }
    bool ran = false;
    for (int k = 0; k < count; k++)
      if (fibers[order[k]].state == READY) resume(order[k]), ran = true;
    if (ran || release_warps() || release_block()) continue;
    for (int i = 0; i < count; i++)
      if (fibers[i].state != DONE) {
        if (!problem[0])
          snprintf(problem, sizeof problem, "block %u: thread %d waits at line %d for threads that do not come",
                   blockIdx.x, i, fibers[i].line);
        return false;
      }
    return true;
  }
}

// 0, or 1 with a text in `problem`; order: 0 ascending, 1 descending, else a seed
static int launch(void (*kernel)(), long long grid, int threads, int order) {
  if (!stacks) stacks = (char *)malloc((size_t)MOST * STACK);
  body = kernel, count = threads, mode = order, random_state = order * 2654435761u + 1, problem[0] = 0;
  blockDim = {(unsigned)threads, 1, 1}, gridDim = {(unsigned)grid, 1, 1};
  for (long long b = 0; b < grid; b++) {
    blockIdx = {(unsigned)b, 0, 0};
    if (!run_block()) return 1;
  }
  return 0;
}
static void barrier(int line) {
  fibers[current].line = line;
  wait_as(AT_BARRIER);
}
template <class T> static T exchange(T value, int lane) {
  int warp = current & ~31;
  memcpy(&fibers[current].slot, &value, sizeof value);
  wait_as(AT_EXCHANGE);
  T result;
  int from = warp + lane < count ? warp + lane : current;
  memcpy(&result, &fibers[from].slot, sizeof result);
  wait_as(AT_EXCHANGE);
  return result;
}

}  // namespace emulator

extern "C" const char *emulator_problem() { return emulator::problem; }

#define __syncthreads() emulator::barrier(__LINE__)
template <class T> static T __shfl_down_sync(unsigned, T value, int distance) {
  int lane = emulator::current & 31;
  return emulator::exchange(value, lane + distance < 32 ? lane + distance : lane);
}
template <class T> static T __shfl_up_sync(unsigned, T value, int distance) {
  int lane = emulator::current & 31;
  return emulator::exchange(value, lane >= distance ? lane - distance : lane);
}
template <class T> static T atomicCAS(T *place, T expected, T value) {
  T old = *place;
  if (old == expected) *place = value;
  return old;
}
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
static inline double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
static inline float sinpif(float x) { return (float)sinpi((double)x); }
static inline float cospif(float x) { return (float)cospi((double)x); }
