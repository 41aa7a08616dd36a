-- Every row against all rows of another matrix: a reduction of reductions, with few rows and many, short and long ones.
-- The outer operators: the least with its place; one that is not commutative.
-- ==
-- entry: nearest_of_made
-- input { 3i64 0i64 4i64 } output { -6i64 }
-- input { 3i64 1i64 4i64 } output { 0i64 }
-- input { 5i64 7i64 3i64 } output { 23i64 }
-- input { 5i64 8i64 3i64 } output { 29i64 }
-- input { 70i64 9i64 2i64 } output { 9835i64 }
-- input { 20i64 30i64 5i64 } output { 964i64 }
-- input { 3i64 17i64 2050i64 } output { 29i64 }
-- input { 2i64 20i64 0i64 } output { 0i64 }
-- input { 300i64 16i64 33i64 } output { 227234i64 }
-- ==
-- entry: digits_of_made
-- input { 3i64 0i64 4i64 } output { 0i32 }
-- input { 3i64 1i64 4i64 } output { 62i32 }
-- input { 5i64 7i64 3i64 } output { 48653229i32 }
-- input { 5i64 8i64 3i64 } output { 486532196i32 }
-- input { 70i64 9i64 2i64 } output { -453014059i32 }
-- input { 20i64 30i64 5i64 } output { -294327400i32 }
-- input { 3i64 17i64 2050i64 } output { -256333371i32 }
-- input { 2i64 20i64 0i64 } output { 0i32 }
-- input { 300i64 16i64 33i64 } output { -570241490i32 }
-- ==
-- entry: picked
-- input { [10, 20] [[1, 2], [3, 4]] [[0i64, 1i64], [1i64, 1i64], [0i64, 0i64], [1i64, 0i64], [0i64, 1i64], [1i64, 1i64], [0i64, 0i64], [1i64, 0i64], [0i64, 1i64]] }
-- output { [297, 333] }
-- input { [10, 20] [[1, 2]] [[0i64, 1i64], [1i64, 1i64], [0i64, 0i64], [1i64, 0i64], [0i64, 1i64], [1i64, 2i64], [0i64, 0i64], [1i64, 0i64], [0i64, 1i64]] }
-- error: index \[2\] out of bounds for array of shape \[2\]

def made (n: i64) (d: i64) (s: i64): [n][d]i64 =
  tabulate_2d n d (\i j -> (i * 7 + j * 3 + s) % 11 - 5)

def weighed [n] (xs: [n]i64): i64 = i64.sum (map2 (*) xs (map (+ 1) (iota n)))

def nearer (d: f32, i: i64) (e: f32, j: i64): (f32, i64) =
  if j < 0 then (d, i)
  else if i < 0 then (e, j)
  else if d < e || (d == e && i < j) then (d, i) else (e, j)

def nearest [n][k][d] (ps: [n][d]f32) (cs: [k][d]f32): [n]i64 =
  let distance p c = f32.sum (map2 (\x y -> (x - y) * (x - y)) p c)
  in map (\p -> (reduce_comm nearer (f32.inf, -1) (zip (map (distance p) cs) (iota k))).1) ps

-- The digits are products of rows, one after the other.
def digits [n][k][d] (ps: [n][d]i32) (cs: [k][d]i32): [n]i32 =
  let after (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
  in map (\p -> (reduce after (1, 0) (map (\c -> (10, i32.sum (map2 (*) p c))) cs)).1) ps

entry nearest_of_made (n: i64) (k: i64) (d: i64): i64 =
  weighed (nearest (map (map f32.i64) (made n d 1)) (map (map f32.i64) (made k d 4)))

entry digits_of_made (n: i64) (k: i64) (d: i64): i32 =
  i32.i64 (weighed (map i64.i32 (digits (map (map i32.i64) (made n d 1)) (map (map i32.i64) (made k d 4)))))

-- Indices are checked in each step.
entry picked [m][n][k][d] (qs: [m]i32) (ps: [n][d]i32) (iss: [k][d]i64): [n]i32 =
  map (\p -> i32.sum (map (\is -> i32.sum (map2 (\x i -> x + qs[i]) p is)) iss)) ps
