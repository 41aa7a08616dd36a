-- A module with a parameter, applied to two modules; the signature says what it needs.
-- ==
-- input { [1, 2, 3] [2f32, 4f32] } output { 6 8f32 }
-- input { empty([0]i32) empty([0]f32) } output { 0 1f32 }

module type monoid = {
  type t
  val op: t -> t -> t
  val ne: t
}

module fold (M: monoid) = {
  def all [n] (xs: [n]M.t): M.t = reduce M.op M.ne xs
}

module sum = fold { type t = i32  def op (x: i32) y = x + y  def ne = 0i32 }
module product = fold { type t = f32  def op (x: f32) y = x * y  def ne = 1f32 }

def main (xs: []i32) (ys: []f32) = (sum.all xs, product.all ys)
