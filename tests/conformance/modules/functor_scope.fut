-- A name in the body of a functor means what it means where the functor was defined, not where it is applied.
-- ==
-- input { [1, 2] } output { 511 41 31 14 94 70 [3, 5] }
import "library/between"

def secret (x: i32) = x + 1000

def shown (_: i32) = 31i32

module m = turn { type t = i32 def f (x: i32) = x + secret 0 - 1000 }
module h = half { def b = 11i32 }

def main (xs: []i32) =
  (twice 5, h.both, shown 3, m.go 1, m.go 9, m.inner.k, map (\x -> 2 * x + 1) xs)
