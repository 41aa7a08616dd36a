-- What a lifted function gives may be of any size, another one each time.
-- ==
-- input { 2i64 3i64 }
-- output { [0i64, 1i64] [0i64, 1i64, 2i64] 3i64 [1i64, 2i64] }

def both '^a '^b (f: a -> b) (x: a) (y: a) = (f x, f y)

def main (n: i64) (m: i64) =
  let (xs, ys) = both iota n m
  let positive = iota m |> filter (> 0)
  in (xs, ys, length (m |> iota), positive)
