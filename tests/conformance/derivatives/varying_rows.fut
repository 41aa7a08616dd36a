-- Rows that read a free array a number of times that each of them computes: a sparse matrix times a vector, rows in loops.
-- ==
-- entry: forward_agrees
-- input { [1.0, 2.0, 3.0] [1.0, -2.0, 0.5, 4.0, 3.0] [0i64, 2i64, 1i64, 0i64, 1i64] [0i64, 2i64, 2i64] [2i64, 0i64, 3i64] }
-- output { true }

-- ==
-- entry: halving
-- input { [1.0, 2.0, 3.0, 4.0] [9i64, 0i64, 3i64, 4i64] }
-- output { [0.0, 24.0, 0.0, 12.0] }

def rows [n] [k] [l] (cols: [l]i64) (offs: [n]i64) (lens: [n]i64) (xs: [k]f64, vals: [l]f64) : [n]f64 =
  map2 (\o len -> let s = loop s = 0 for j < len do s + vals[o + j] * xs[cols[o + j]] in s * s) offs lens

entry forward_agrees [n] [k] [l] (xs: [k]f64) (vals: [l]f64) (cols: [l]i64) (offs: [n]i64) (lens: [n]i64) : bool =
  let f (x: ([k]f64, [l]f64)) : f64 = f64.sum (rows cols offs lens x)
  let (xs', vals') = vjp f (xs, vals) 1
  let zeros = (replicate k 0, replicate l 0)
  let by_x = tabulate k (\i -> jvp f (xs, vals) (replicate k 0 with [i] = 1, zeros.1))
  let by_val = tabulate l (\i -> jvp f (xs, vals) (zeros.0, replicate l 0 with [i] = 1))
  in all (< 1e-9) (map2 (\a b -> f64.abs (a - b)) (xs' ++ vals') (by_x ++ by_val))

def visits (xs: [4]f64) (i: i64) : f64 =
  (loop (s, j) = (0f64, i) while j > 0 do (if j % 2 == 1 then s + xs[j % 4] * xs[j % 4] * 3 / 2 else s, j / 2)).0

entry halving (xs: [4]f64) (is: [4]i64) : [4]f64 = vjp (\xs -> f64.sum (map (visits xs) is)) xs 1
