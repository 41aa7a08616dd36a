-- A module with a type, values and functions.
-- ==
-- input { 0 }
-- output { 1 0 }
-- input { 1 }
-- output { 2 2 }
-- input { -7 }
-- output { -6 -14 }
-- input { 100 }
-- output { 101 200 }

module counter = {
  type t = {n: i32}
  def zero: t = {n = 0}
  def inc (by: i32) (c: t): t = {n = c.n + by}
  module inner = { def twice (x: i32) = 2 * x }
}
def main (x: i32) = ((counter.inc x (counter.inc 1 counter.zero)).n, counter.inner.twice x)
