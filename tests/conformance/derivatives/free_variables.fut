-- What a map uses from outside: a scalar, an array as a whole, an array at indices, from two levels of maps.
-- ==
-- entry: scalar
-- input { 2.0 [1.0, 2.0, 3.0] } output { 24.0 }

-- ==
-- entry: whole
-- input { [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] [7.0, 8.0] } output { [9.0, 12.0] }

-- ==
-- entry: gather
-- input { [1.0, 2.0, 3.0] [0i64, 1i64, 0i64] } output { [4.0, 4.0, 0.0] }

-- ==
-- entry: two_levels
-- input { [1.0, 2.0, 3.0] [[0i64, 1i64], [2i64, 0i64]] } output { [4.0, 4.0, 6.0] }

-- ==
-- entry: rows_of_any_length
-- input { [1.0, 2.0, 3.0] [1i64, 3i64, 0i64, 2i64] } output { [6.0, 8.0, 6.0] }

-- ==
-- entry: in_branch
-- input { [1.0, 2.0, 3.0] [2i64, 5i64, 0i64] } output { [1.0, 0.0, 6.0] }

-- ==
-- entry: in_loop
-- input { [1.0, 2.0, 3.0] 2i64 } output { [6.0, 8.0, 6.0] }

entry scalar (c: f64) (xs: []f64) = vjp (\c -> f64.sum (map (\x -> c * c * x) xs)) c 1
entry whole [n] [m] (a: [n][m]f64) (v: [m]f64) = vjp (\v -> f64.sum (map (\r -> f64.sum (map2 (*) r v)) a)) v 1
entry gather (xs: []f64) (is: []i64) = vjp (\xs -> f64.sum (map (\i -> xs[i] * xs[i]) is)) xs 1

entry two_levels (xs: []f64) (is: [][]i64) =
  vjp (\xs -> f64.sum (map (\js -> f64.sum (map (\j -> xs[j] * xs[j]) js)) is)) xs 1

entry rows_of_any_length (xs: []f64) (ns: []i64) =
  vjp (\xs -> f64.sum (map (\n -> f64.sum (map (\i -> xs[i] * xs[i]) (iota n))) ns)) xs 1

entry in_branch [n] (xs: [n]f64) (is: []i64) =
  vjp (\xs -> f64.sum (map (\i -> if i > 0 && i < n then xs[i] * xs[i] else if i == 0 then xs[i] else 0) is)) xs 1

entry in_loop (xs: []f64) (n: i64) =
  vjp (\xs -> f64.sum (map (\i -> (loop a = 0 for j < i + 1 do a + xs[j] * xs[j])) (map (\k -> k + 0) (iota (n + 1))))) xs 1
