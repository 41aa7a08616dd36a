-- Halving an array by adding its halves.
-- ==
-- input { 0i64 }
-- output { 0i64 }
-- input { 1i64 }
-- output { 1i64 }
-- input { 5i64 }
-- output { 496i64 }

def main (k: i64): i64 =
  let xs = iota (1 << k)
  let r = loop xs while length xs > 1 do
    let h = length xs / 2 in map2 (+) (take h xs) (sized h (drop h xs))
  in r[0]
