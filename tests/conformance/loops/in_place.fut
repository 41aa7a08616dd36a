-- An array updated in place: a sieve of the primes.
-- ==
-- input { 0i64 }
-- output { empty([0]bool) }
-- input { 1i64 }
-- output { [false] }
-- input { 2i64 }
-- output { [false, false] }
-- input { 3i64 }
-- output { [false, false, true] }
-- input { 50i64 }
-- output {
--   [false, false, true, true, false, true, false, true, false, false, false, true, false, true, false,
--   false, false, true, false, true, false, false, false, true, false, false, false, false, false, true,
--   false, true, false, false, false, false, false, true, false, false, false, true, false, true, false,
--   false, false, true, false, false]
-- }

def main (n: i64): [n]bool =
  loop p = map (\i -> i > 1) (iota n) for i < n do
    if !p[i] then p else loop p for j < (n - 1) / i64.max 1 i - 1 do p with [(j + 2) * i] = false
