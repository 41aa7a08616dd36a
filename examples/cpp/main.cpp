// A matrix product by the library of programs/matmul.soac: both versions, and a failure.

#include <matmul.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Context = std::unique_ptr<matmul_context, decltype(&matmul_context_free)>;

void check(const Context &context) {
  if (const matmul_failure_info *failure = matmul_failure(context.get()))
    throw std::runtime_error(std::string(failure->code) + ": " + failure->message);
}

Context make_context(std::int64_t threads) {
  matmul_config config = {};
  config.threads = threads;
  Context context(matmul_context_new(&config), matmul_context_free);
  if (!context) throw std::bad_alloc();
  check(context);
  return context;
}

struct Matrix {
  std::int64_t rows, columns;
  std::vector<float> elements;

  matmul_f32_2d view() { return {elements.data(), {rows, columns}, nullptr}; }
};

Matrix product(const Context &context, Matrix &a, Matrix &b) {
  const matmul_f32_2d x = a.view(), y = b.view();
  matmul_f32_2d z = {};
  matmul_entry_main(context.get(), &z, &x, &y);
  check(context);
  Matrix result = {z.shape[0], z.shape[1], {z.data, z.data + z.shape[0] * z.shape[1]}};
  matmul_release(z.owner);
  return result;
}

}  // namespace

int main() {
  const Context context = make_context(2);
  Matrix a = {2, 3, {1, 2, 3, 3, 4, 5}}, b = {3, 2, {1, 2, 3, 4, 5, 6}};
  for (std::int64_t threshold : {std::int64_t{0}, INT64_MAX}) {
    matmul_set(context.get(), "main.ys.suff_outer_0", threshold);
    const Matrix c = product(context, a, b);
    for (std::int64_t i = 0; i < c.rows; i++)
      for (std::int64_t j = 0; j < c.columns; j++)
        std::cout << c.elements[i * c.columns + j] << (j + 1 < c.columns ? " " : "\n");
  }
  try {
    product(context, a, a);
  } catch (const std::runtime_error &error) {
    std::cout << error.what() << "\n";
  }
}
