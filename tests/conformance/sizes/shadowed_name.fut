-- A size keeps its value where its name is taken by another number.
-- ==
-- input { 3i64 }
-- output { [7i64, 8i64, 9i64, 10i64] 4i64 }

def main (n: i64) =
  let xs = iota (n + 1)
  let n = 7i64
  in (map2 (+) xs (rep n), length (map2 (*) xs (rep 1)))
