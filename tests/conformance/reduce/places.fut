-- Operators that carry a place beside a value: what is first, what is last, what is not a number, ties, none at all.
-- ==
-- entry: first_largest
-- input { [[1f32, 3f32, 2f32, 3f32], [-1f32, -f32.inf, -1f32, -2f32]] } output { [3f32, -1f32] [1i64, 0i64] }
-- input { [[-f32.inf, -f32.inf, -f32.inf]] } output { [-f32.inf] [0i64] }
-- input { empty([2][0]f32) } output { [-f32.inf, -f32.inf] [-1i64, -1i64] }
-- input { empty([0][3]f32) } output { empty([0]f32) empty([0]i64) }
-- ==
-- entry: last_least
-- input { [[4i32, 1i32, 2i32, 1i32], [7i32, 7i32, 7i32, 7i32]] } output { [1i32, 7i32] [3i64, 3i64] }
-- input { empty([2][0]i32) } output { [2147483647i32, 2147483647i32] [-5i64, -5i64] }
-- ==
-- entry: nan_first
-- input { [[1f64, 5f64, f64.nan, 7f64, f64.nan], [3f64, 2f64, 9f64, 9f64, 1f64]] } output { [2i64, 2i64] }
-- input { [[f64.nan]] } output { [0i64] }
-- ==
-- entry: far
-- input { [true, false, true, true, false] } output { 3i64 0i64 4i64 }
-- input { [false, false] } output { -1i64 -1i64 1i64 }
-- input { empty([0]bool) } output { -1i64 -1i64 -1i64 }
-- ==
-- entry: shifted
-- input { 3i64 [1f32, 4f32, 4f32] } output { 4i64 }
-- input { -3i64 [1f32, 4f32, 4f32] } output { -1i64 }
-- input { -1i64 [1f32, 1f32] } output { 0i64 }
-- ==
-- entry: long_rows
-- input { 3i64 70001i64 } output { 128333i64 0i64 }
-- input { 300i64 67i64 } output { 15736i64 0i64 }
-- ==
-- entry: narrow
-- input { [5i8, -3i8, 9i8, 9i8] } output { 2i32 }
-- ==
-- entry: beyond
-- input { [[2f32, 7f32, 7f32], [-f32.inf, -f32.inf, -f32.inf], [-f32.inf, 1f32, -f32.inf]] } output { [1i64, 0i64, 1i64] [2i64, 2i64, 1i64] }
-- input { empty([2][0]f32) } output { [9223372036854775807i64, 9223372036854775807i64] [0i64, 0i64] }

def larger (x: f32, i: i64) (y: f32, j: i64): (f32, i64) =
  if j < 0 then (x, i)
  else if i < 0 then (y, j)
  else if x > y || (x == y && i < j) then (x, i) else (y, j)

entry first_largest [n][m] (xss: [n][m]f32): ([n]f32, [n]i64) =
  unzip (map (\xs -> reduce_comm larger (-f32.inf, -1) (zip xs (iota m))) xss)

-- The place of none is another one than -1, and the test of it another one than of the sign.
def less (x: i32, i: i64) (y: i32, j: i64): (i32, i64) =
  if i == -5 then (y, j)
  else if -5 == j then (x, i)
  else if x < y then (x, i)
  else if y < x then (y, j)
  else (x, i64.max i j)

entry last_least [n][m] (xss: [n][m]i32): ([n]i32, [n]i64) =
  unzip (map (\xs -> reduce_comm less (i32.highest, -5) (zip xs (iota m))) xss)

-- What is not a number is larger than all numbers, so that the operator is associative on every value.
def larger_or_nan (x: f64, i: i64) (y: f64, j: i64): (f64, i64) =
  if i <= -1 then (y, j)
  else if j <= -1 then (x, i)
  else if f64.isnan x then (if f64.isnan y then (x, i64.min i j) else (x, i))
  else if f64.isnan y || y > x then (y, j)
  else if x > y || i < j then (x, i) else (y, j)

entry nan_first [n][m] (xss: [n][m]f64): [n]i64 =
  map (\xs -> (reduce_comm larger_or_nan (0, -1) (zip xs (iota m))).1) xss

-- Places alone: of the last that holds, the first that holds, the last of all.
entry far [n] (bs: [n]bool): (i64, i64, i64) =
  let last = reduce_comm i64.max (-1) (map2 (\b i -> if b then i else -1) bs (iota n))
  let first = reduce_comm (\i j -> if i < 0 then j else if j < 0 then i else i64.min i j) (-1)
                          (map2 (\b i -> if b then i else -1) bs (iota n))
  in (last, first, reduce_comm i64.max (-1) (iota n))

-- Places that count from another number, which may be one that means none.
entry shifted [n] (from: i64) (xs: [n]f32): i64 =
  (reduce_comm larger (-f32.inf, -1) (map2 (\x i -> (x, from + i)) xs (iota n))).1

-- Rows long enough for several chunks, and many short ones.
entry long_rows (n: i64) (m: i64): (i64, i64) =
  let xss = tabulate_2d n m (\i j -> f32.i64 (if j * (i + 1) < m then j * (i + 1) else 0))
  let (_, last) = unzip (map (\xs -> reduce_comm (\(x, i) (y, j) ->
                                       if x > y || (x == y && i > j) then (x, i) else (y, j))
                                     (-f32.inf, -1) (zip xs (iota m))) xss)
  let (_, first) = unzip (map (\xs -> reduce_comm larger (-f32.inf, -1) (zip (map f32.neg xs) (iota m))) xss)
  in (i64.sum last, i64.sum first)

-- Places of another type.
entry narrow [n] (xs: [n]i8): i32 =
  (reduce_comm (\(x, i) (y, j) -> if x > y || (x == y && i < j) then (x, i) else (y, j))
               (i8.lowest, i32.highest) (zip xs (map i32.i64 (iota n)))).1

-- Neutral places that an element may have, or that are more than all others.
entry beyond [n][m] (xss: [n][m]f32): ([n]i64, [n]i64) =
  let first (x, i) (y, j) = if y > x || (y == x && j < i) then (y, j) else (x, i)
  let last (x, i) (y, j) = if x > y || (y == x && i > j) then (x, i) else (y, j)
  in (map (\xs -> (reduce first (-f32.inf, i64.highest) (zip xs (iota m))).1) xss,
      map (\xs -> (reduce last (-f32.inf, 0) (zip xs (iota m))).1) xss)
