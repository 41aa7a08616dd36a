-- Rows of varying length: of rows, scanned by rows, overwritten in part, with elements that are gathered; calls that call themselves twice.
-- ==
-- entry: of_rows
-- input { [0i64, 3i64, 1i64, 4i64] }
-- auto output

-- ==
-- entry: scanned
-- input { [0i64, 3i64, 1i64] [[1i64, 2i64], [0i64, 4i64], [2i64, 0i64]] }
-- auto output

-- ==
-- entry: corners
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64], [7i64, 8i64, 9i64]] }
-- auto output

-- ==
-- entry: gathered
-- input { [0i64, 2i64, 2i64, 5i64] [0i64, 1i64, 2i64, 0i64, 1i64] [3i64, 1i64, 4i64, 1i64, 5i64] [2i64, 7i64, 1i64] }
-- auto output

-- ==
-- entry: called
-- input { [0i64, 1i64, 5i64, 8i64] }
-- output { [0i64, 1i64, 5i64, 21i64] }

def fib (n: i64): i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)

entry of_rows [n] (ys: [n]i64): [n]i64 =
  map (\k -> let rows = map (\i -> scan (+) 0 (map (\j -> i * j) (iota k))) (iota k)
             in i64.sum (map i64.sum (transpose rows)) + (if k > 1 then rows[1, k-1] else 0)) ys

entry scanned [n][m] (ys: [n]i64) (xss: [n][m]i64): [n]i64 =
  map (\k -> let last a b = if b == 0 then a else b
             let rows = map (\i -> map (\x -> (x + i) % 3) xss[i % n]) (iota k)
             in i64.sum (map i64.sum (scan (map2 last) (replicate m 0) rows))) ys

entry corners [n][m] (xss: [n][m]i64): [n]i64 =
  map (\i -> i64.sum (map i64.sum (copy xss with [:i, m-i:] = map (map (* 2)) xss[n-i:, :i]))) (iota n)

entry gathered [n][k][m] (from: [n]i64) (at: [k]i64) (by: [k]i64) (xs: [m]i64) =
  map (\i -> i64.sum (map2 (\j v -> v * xs[j]) at[from[i]:from[i+1]] by[from[i]:from[i+1]])) (iota (n - 1))

entry called [n] (xs: [n]i64): [n]i64 = map fib xs
