-- Functors that take and give functors, functors in modules, partial application, and a signature for a functor.
-- ==
-- input { 2 } output { 4 200 307 1200 }

module type step = { type t val go: t -> t }
module type lift = (S: step) -> { val go: S.t -> S.t }

module twice: lift = \(S: step) -> { def go (x: S.t) = S.go (S.go x) }
module around (F: lift) (S: step) = { open (F S) def back = go }
module inc = { type t = i32 def go (x: i32) = x + 1  def unseen = 0i32 }
module hundreds (A: { val k: i32 }) (B: { val k: i32 }) = { def k = 100 * A.k + B.k }

module shop = {
  module scale (A: { val by: i32 }): step with t = i32 = { type t = i32 def go (x: i32) = x * A.by }
}

module partly = around twice
module a = partly inc
module ten = shop.scale { def by = 10i32 }
module b = partly ten
module h = hundreds { def k = 3i32 }
module k = h { def k = 7i32 }
module c = around (\(S: step) -> { def go (x: S.t) = S.go (S.go x) }) { type t = i32 def go (x: i32) = ten.go x + x + x }

def main (x: i32) = (a.back x, b.go x, k.k, c.go (x + 6) + 48)
