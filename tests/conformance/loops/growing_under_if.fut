-- An array that grows in some iterations only: its size is one the loop carries.
-- ==
-- input { 0i64 } output { empty([0]i64) }
-- input { 2i64 } output { empty([0]i64) }
-- input { 30i64 } output { [2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64, 19i64, 23i64, 29i64] }

def main (n: i64): []i64 =
  loop (primes: []i64) = [] for i < n do
    if i > 1 && all (\p -> i % p != 0) primes then primes ++ [i] else primes
