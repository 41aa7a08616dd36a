-- Operators and functions of a module that are defined by those outside of it, which have the same names (W0306).

module u128 = {
  type t = {high: u64, low: u64}
  def (+) (a: t) (b: t): t =
    let lo = a.low + b.low
    in { high = a.high + b.high + u64.bool (lo < a.low), low = lo }
  def (==) (a: t) (b: t): bool = a.high == b.high && a.low == b.low
}
def twice (x: i32) = x * 2
module m = {
  def twice (x: (i32, i32)) = (twice x.0, twice x.1)
}
entry main (x: u64) (y: u64): (u64, u64) =
  let z = ({high = 0, low = x} u128.+ {high = 1, low = y}) in (z.high, z.low)
entry doubled (x: i32): (i32, i32) = m.twice (x, x + 1)
-- ==
-- entry: main
-- input { 18446744073709551615u64 3u64 } output { 2u64 2u64 }

-- ==
-- entry: doubled
-- input { 4 } output { 8 10 }
