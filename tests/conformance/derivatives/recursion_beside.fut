-- Recursive functions that nothing is differentiated through: of indices, and in what `with_vjp` gives the derivative of.
-- ==
-- entry: by_gcd
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { [0.0, 2.0, 4.0, 6.0] [0.0, 1.0, 2.0, 3.0] [0.0, 0.0, 0.0, 0.0] }
-- ==
-- entry: power
-- input { [1.0, 2.0, 3.0] }
-- output { [0.0, 1.0, 6.0] }
-- ==
-- entry: of_table
-- input { 3i64 2.0 }
-- output { 12.0 4.0 }

def gcd (a: i64) (b: i64): i64 = if b == 0 then a else gcd b (a % b)
def even (n: i64): bool = if n == 0 then true else odd (n - 1)
def odd (n: i64): bool = if n == 0 then false else even (n - 1)

def f [n] (xs: [n]f64): f64 =
  f64.sum (map2 (\x i -> if even i && odd (i + 1) then f64.i64 i * x else x * f64.i64 (gcd i (6 * i))) xs (iota n))

def twice [n] (xs: [n]f64): [n]f64 = vjp (\xs -> 2 * f xs) xs 1

entry by_gcd [n] (xs: [n]f64) =
  (twice xs, map (\i -> jvp f xs (map (\j -> f64.bool (i == j)) (iota n))) (iota n), jvp twice xs xs)

def raised (x: f64) (k: i64): f64 = if k == 0 then 1 else x * raised x (k - 1)
def known (k: i64) (x: f64): f64 =
  with_vjp (\x -> raised x k) (\_ y' -> y' * f64.i64 k * (if k == 0 then 0 else x ** f64.i64 (k - 1))) x

entry power [n] (xs: [n]f64) = map2 (\k x -> vjp (known k) x 1) (iota n) xs

def table = [1f64, 2, 4]
def sum_to (k: i64): f64 = if k == 0 then 0 else table[k - 1] + sum_to (k - 1) - (if k == 3 then 3 else 0)

entry of_table (k: i64) (x: f64) = vjp2 (\x -> sum_to k * x + x * x) x 1 |> \(y, d) -> (y, d - sum_to k)
