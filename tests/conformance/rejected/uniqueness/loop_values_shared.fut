-- ==
-- error: its next value shares data with another's

def main (n: i64) =
  loop (xs: *[]i32, ys: *[]i32) = (replicate n 0, replicate n 0)
  for _i < 10 do
    (xs, xs)
