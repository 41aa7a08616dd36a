// Bulk operations of the CUDA device, after `cuda_prelude.h`. Elements are words of their size; strides count elements.

constexpr i32 MOST_DIMS = 8;
struct Layout { i64 dims, size[MOST_DIMS], to[MOST_DIMS], from[MOST_DIMS]; };

// to[i] = start + i * step, rounded to the width as integers are
template <class T> DEVICE void ramp(T *to, u64 start, u64 step, i64 count) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x)
    to[i] = (T)(start + (u64)i * step);
}

// one element of `from` for each of `to`, both strided; a stride of 0 repeats
template <class T> DEVICE void copy_strided(T *to, const T *from, i64 count, const Layout &at) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
    i64 rest = i, target = 0, source = 0;
    for (i64 d = at.dims - 1; d >= 0; d--) {
      const i64 k = rest % at.size[d];
      rest /= at.size[d];
      target += k * at.to[d], source += k * at.from[d];
    }
    to[target] = from[source];
  }
}

template <class T> DEVICE void fill_strided(T *to, T value, i64 count, const Layout &at) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
    i64 rest = i, target = 0;
    for (i64 d = at.dims - 1; d >= 0; d--) {
      target += rest % at.size[d] * at.to[d];
      rest /= at.size[d];
    }
    to[target] = value;
  }
}

// many matrices: to[m][r][c] = from[m][c][r], by way of tiles in shared memory, so that both sides are read and written
// along their rows; the extra column keeps the columns of a tile apart in the banks
constexpr i32 TILE = 32;
template <class T>
DEVICE void transpose_tiles(T *to, const T *from, i64 matrices, i64 rows, i64 columns, i64 to_matrix, i64 to_row,
                            i64 from_matrix, i64 from_column) {
  __shared__ T tile[TILE][TILE + 1];
  const i64 down = (rows + TILE - 1) / TILE, across = (columns + TILE - 1) / TILE;
  const i32 x = threadIdx.x % TILE, y = threadIdx.x / TILE, step = blockDim.x / TILE;
  for (i64 t = blockIdx.x; t < matrices * down * across; t += gridDim.x) {
    const i64 m = t / (down * across), r0 = t / across % down * TILE, c0 = t % across * TILE;
    for (i32 c = y; c < TILE; c += step)
      if (c0 + c < columns && r0 + x < rows) tile[c][x] = from[m * from_matrix + (c0 + c) * from_column + r0 + x];
    __syncthreads();
    for (i32 r = y; r < TILE; r += step)
      if (r0 + r < rows && c0 + x < columns) to[m * to_matrix + (r0 + r) * to_row + c0 + x] = tile[x][r];
    __syncthreads();
  }
}

#define BULK(T)                                                                                                     \
  extern "C" __global__ void ramp_##T(T *to, u64 start, u64 step, i64 count) { ramp(to, start, step, count); }      \
  extern "C" __global__ void copy_##T(T *to, const T *from, i64 count, Layout at) {                                 \
    copy_strided(to, from, count, at);                                                                              \
  }                                                                                                                 \
  extern "C" __global__ void fill_##T(T *to, T value, i64 count, Layout at) { fill_strided(to, value, count, at); } \
  extern "C" __global__ void transpose_##T(T *to, const T *from, i64 matrices, i64 rows, i64 columns,               \
                                           i64 to_matrix, i64 to_row, i64 from_matrix, i64 from_column) {           \
    transpose_tiles(to, from, matrices, rows, columns, to_matrix, to_row, from_matrix, from_column);                \
  }
BULK(u8)
BULK(u16)
BULK(u32)
BULK(u64)
