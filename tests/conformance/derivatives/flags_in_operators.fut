-- Operators with truth values beside numbers, as of segmented scans and sums: these have no adjoints.
-- ==
-- entry: scanned
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { [12.0, 20.0, 18.0, 32.0] }
-- ==
-- entry: scanned_twice
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { [12.0, 10.0, 6.0, 8.0] }
-- ==
-- entry: reduced
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { [0.0, 0.0, 25.0, 10.0] }
-- ==
-- entry: binned
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { [0.0, 2.0, 3.0, 0.0] }

def sums [n] (xs: [n]f64) : [n]f64 =
  let starts = map (\i -> i % 3 == 0) (iota n)
  let op (f, a) (g, b) = (f || g, if g then b else a + b)
  in map (.1) (scan op (false, 0) (zip starts (map (\x -> x * x) xs)))

entry scanned [n] (xs: [n]f64) : [n]f64 = vjp sums xs xs

entry scanned_twice [n] (xs: [n]f64) : [n]f64 = jvp (\xs -> vjp sums xs (map f64.i64 (1...n :> [n]i64))) xs (map (const 1) xs)

entry reduced [n] (xs: [n]f64) : [n]f64 =
  let last_two (c: f64) (f: bool, a: f64) (g, b) = (f || g, if g then b else a + b + c * a * b)
  in vjp (\xs -> (reduce (last_two xs[2]) (false, 0) (zip (map (\i -> i == 2) (iota n)) xs)).1) xs 1

entry binned [n] (xs: [n]f64) : [n]f64 =
  let most (f, a) (g, b) = (f || g, f64.max a b)
  in vjp (\xs -> map (.1) (hist most (false, -1e9) 2 (map (% 2) (iota n)) (zip (map (> 2) xs) (map (\x -> if x > 3 then 0 * x else x) xs)))) xs [3, 2]
