-- Recurrences over the same steps run together, unless one reads or overwrites what is the other's.
-- ==
-- entry: apart
-- input { [3, 1, 2] } output { [3, 4, 6] [3, 3, 6] 9 }
-- ==
-- entry: chained
-- input { [3, 1, 2] } output { [3, 4, 6] [3, 7, 13] }
-- ==
-- entry: overwritten
-- input { [3, 1, 2] } output { 6 [9, 1, 2] 12 }
-- ==
-- entry: other_steps
-- input { [3, 1, 2] } output { 6 4 }
-- ==
-- entry: nested
-- input { [[3, 1, 2], [1, 1, 1]] } output { [[3, 4, 6], [1, 2, 3]] [6, 1] }
-- ==
-- entry: failing
-- input { [3, 1, 2] } output { 6 4 }
-- input { [0, 1, 2] } error: division by zero
def sums [n] (xs: [n]i32) = (loop (ys, s) = (replicate n 0, 0) for i < n do let s = s + xs[i] in (ys with [i] = s, s)).0
def total [n] (k: i64) (xs: [n]i32) = loop s = 0 for i < k do s + xs[i]

entry apart [n] (xs: [n]i32): ([n]i32, [n]i32, i32) =
  let ys = sums xs
  let k = n
  let zs = (loop (zs, p) = (replicate n 0, 1) for i < n do let p = p * xs[i] in (zs with [i] = p, p)).0
  in (ys, zs, 2 * total k xs - zs[n - 1] + zs[1])

entry chained [n] (xs: [n]i32): ([n]i32, [n]i32) = let ys = sums xs in (ys, sums ys)

entry overwritten [n] (xs: [n]i32): (i32, [n]i32, i32) =
  let ys = copy xs
  let s = total n ys
  let ys = ys with [0] = 9
  in (s, ys, total n ys)

entry other_steps [n] (xs: [n]i32): (i32, i32) = (total n xs, total (n - 1) xs)

entry nested [m][n] (xss: [m][n]i32): ([m][n]i32, [m]i32) =
  unzip (map (\xs -> (sums xs, loop p = 1 for i < n do p * xs[i])) xss)

entry failing [n] (xs: [n]i32): (i32, i32) = (total n xs, loop s = 0 for i < n do s + 3 / xs[i] - i32.i64 (i / 2))
