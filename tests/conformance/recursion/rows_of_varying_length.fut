-- A function that calls itself with a row, the rows of a nest differing in length; it changes its own copy of it.
-- ==
-- entry: main
-- input { [0i64, 1i64, 3i64, 4i64] }
-- output { [0i64, 3i64, 21i64, 36i64] }

def total [k] (xs: [k]i64) (n: i64): i64 =
  if n == 0 then i64.sum xs else n * i64.sum xs + total (map (+ 1) xs) (n - 1)

def main (ks: []i64) = map (\k -> total (iota k) 2) ks
