-- Few short rows for each point: what fails for a point does so only if it has an element.
-- ==
-- input { 40i64 2i64 0i64 [5] } output { empty([40][2][0]i32) }
-- input { 40i64 0i64 2i64 [5] } output { empty([40][0][2]i32) }
-- input { 1i64 2i64 2i64 [5] } output { [[[5, 6], [6, 7]]] }
-- input { 40i64 2i64 1i64 [5] } error: out of bounds

entry main [m] (n: i64) (a: i64) (b: i64) (xs: [m]i32) : [n][a][b]i32 =
  tabulate_3d n a b (\i j k -> xs[i] + i32.i64 (j + k))
