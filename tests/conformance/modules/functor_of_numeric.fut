-- A numeric module as the argument, and a module by another name.
-- ==
-- input { [1f32, 2f32] [4f64] } output { 1.5f32 4f64 }

module type real = { type t val +: t -> t -> t val /: t -> t -> t val i64: i64 -> t }

module mean_of (R: real) = {
  def mean [n] (xs: [n]R.t): R.t = reduce (R.+) (R.i64 0) xs R./ R.i64 n
}

module single = f32
module mean32 = mean_of single
module mean64 = mean_of f64

def main (xs: []f32) (ys: []f64) = (mean32.mean xs, mean64.mean ys)
