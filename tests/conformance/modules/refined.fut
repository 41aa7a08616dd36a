-- `with`, `include`, nested modules in signatures, and an abstract type of the argument that the result speaks of.
-- ==
-- input { 3 [1f64, 2f64] } output { 4 5 [2f64, 4f64] 9 }

module type number = { type t val +: t -> t -> t val one: t }
module type ring = { include number val *: t -> t -> t }
module type pair = { module fst: number module snd: number val both: fst.t -> snd.t -> (fst.t, snd.t) }

module int: ring with t = i32 = {
  type t = i32
  def (+) (x: i32) y = x i32.+ y
  def (*) (x: i32) y = x i32.* y
  def one = 1i32
}

module mk_pair (A: number) (B: number): pair with fst.t = A.t with snd.t = B.t = {
  module fst = A
  module snd = B
  def both (x: A.t) (y: B.t) = (x A.+ A.one, y B.+ B.one)
}

module real = { type t = f64 def (+) (x: f64) y = x f64.+ y def one = 1f64 }
module p = mk_pair int real
module q = mk_pair p.fst p.fst

module dot (R: ring) = {
  def square (x: R.t) = x R.* x
  def double [n] (xs: [n]R.t) = map2 (R.+) xs xs
}
module int_dot = dot int
module real_dot = dot { open real def (*) (x: f64) y = x f64.* y }

def main (x: i32) (ys: []f64) = ((p.both x 1).0, (q.both 1 (x i32.+ 1)).1, real_dot.double ys, int_dot.square x)
