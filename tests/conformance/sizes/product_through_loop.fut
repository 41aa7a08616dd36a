-- A loop parameter of size `q * c` handed to a function that wants `[n*m]t`: the parts are known inside the loop too.
-- ==
-- input { [1, 2, 3, 4, 5, 6, 7] 3i64 } output { [7, 8, 9, 14, 15, 16] }
-- input { [1, 2] 3i64 } output { empty([0]i32) }
def bump [n][m] (xs: [n*m]i32): [n*m]i32 =
  flatten (map2 (\i row -> map (+ i32.i64 (i * n + m)) row) (iota n) (unflatten xs))

def main [k] (xs: [k]i32) (c: i64) =
  let q = k / c
  let whole = sized (q * c) (take (q * c) xs)
  in loop whole for _i < 2 do bump whole
