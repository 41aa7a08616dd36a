-- Loops of both kinds, arrays that are updated in place, and states that are needed again.
-- ==
-- entry: power
-- input { 2.0 5i64 } output { 80.0 80.0 }

-- ==
-- entry: newton
-- input { 2.0 } output { 0.35355339059327373 }

-- ==
-- entry: squares
-- input { [1.0, 2.0, 3.0] } output { [2.0, 4.0, 6.0] }

-- ==
-- entry: recurrence
-- input { [1.0, 2.0, 3.0] } output { [8.0, 3.0, 2.0] }

-- ==
-- entry: overwritten
-- input { [1.0, 2.0, 3.0] } output { [1.0, 0.0, 1.0] }

entry power (x: f64) (n: i64) =
  let f x = loop a = 1 for _i < n do a * x
  in (vjp f x 1, jvp f x 1)

entry newton (x: f64) =
  let f x = (loop (y, go) = (x, true) while go do let z = (y + x / y) / 2 in (z, f64.abs (z - y) > 1e-12)).0
  in vjp f x 1

entry squares [n] (xs: [n]f64) =
  vjp (\xs -> loop ys = copy xs for i < n do let y = ys[i] in ys with [i] = y * y) xs (replicate n 1)

entry recurrence [n] (xs: [n]f64) =
  vjp (\xs -> (loop ys = copy xs for i < n - 1 do let z = ys[i] * ys[i + 1] in ys with [i + 1] = z)[n - 1]
              + xs[0] * xs[0]) xs 1

entry overwritten [n] (xs: [n]f64) = vjp (\xs -> copy xs with [1] = 0) xs (replicate n 1)
