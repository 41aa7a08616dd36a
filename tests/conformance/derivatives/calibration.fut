-- Calibration: the volatility smile that explains the prices of calls. The volatility is a parabola in the logarithm of
-- the strike; its three coefficients are fitted by Gauss-Newton steps. The Jacobian of all prices comes from forward mode
-- (`jmp`), three directions at once.
-- ==
-- entry: main
-- input { 8i64 1.0 0.05 1.0 [0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4] [0.22, -0.08, 0.3] } output { [0.22, -0.08, 0.3] }
-- input { 9i64 1.0 0.0 2.0 [0.5, 0.9, 1.5, 2.0] [0.3, 0.02, 0.05] } output { [0.3, 0.02, 0.05] }
-- ==
-- entry: prices
-- input { 1.0 0.05 1.0 [0.9, 1.0, 1.1] [0.2, 0.0, 0.0] } output { [0.166994, 0.104506, 0.060401] }

type vec = (f64, f64, f64)

def normal (x: f64) = 0.5 * f64.erfc (-x / f64.sqrt 2)

-- The price of a call on an asset that is worth `s`, at interest `r`, for a strike at time `t`.
def call (s: f64) (r: f64) (t: f64) (strike: f64) (sigma: f64) : f64 =
  let d = (f64.log (s / strike) + (r + 0.5 * sigma * sigma) * t) / (sigma * f64.sqrt t)
  in s * normal d - strike * f64.exp (-r * t) * normal (d - sigma * f64.sqrt t)

def prices_of [n] (s: f64) (r: f64) (t: f64) (strikes: [n]f64) ((a, b, c): vec) : [n]f64 =
  map (\k -> let m = f64.log (k / s) in call s r t k (a + b * m + c * m * m)) strikes

def dot [n] (xs: [n]f64) (ys: [n]f64) = f64.sum (map2 (*) xs ys)

-- The solution of a system of three equations, by Cramer's rule.
def solve ((a, b, c): (vec, vec, vec)) (y: vec) : vec =
  let det (u: vec) (v: vec) (w: vec) =
    u.0 * (v.1 * w.2 - v.2 * w.1) - v.0 * (u.1 * w.2 - u.2 * w.1) + w.0 * (u.1 * v.2 - u.2 * v.1)
  let d = det a b c
  in (det y b c / d, det a y c / d, det a b y / d)

def gauss_newton [n] (f: vec -> [n]f64) (observed: [n]f64) (p: vec) : vec =
  let (found, columns) = jmp2 f p [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
  let rest = map2 (-) observed found
  let row i = (dot columns[i] columns[0], dot columns[i] columns[1], dot columns[i] columns[2])
  let d = solve (row 0, row 1, row 2) (dot columns[0] rest, dot columns[1] rest, dot columns[2] rest)
  in (p.0 + d.0, p.1 + d.1, p.2 + d.2)

entry prices [n] (s: f64) (r: f64) (t: f64) (strikes: [n]f64) (p: [3]f64) : [n]f64 =
  prices_of s r t strikes (p[0], p[1], p[2])

-- The smile found from the prices that a smile gives, from a flat one on.
entry main [n] (steps: i64) (s: f64) (r: f64) (t: f64) (strikes: [n]f64) (truth: [3]f64) : [3]f64 =
  let f = prices_of s r t strikes
  let observed = f (truth[0], truth[1], truth[2])
  let (a, b, c) = loop p = (0.25, 0, 0) for _i < steps do gauss_newton f observed p
  in [a, b, c]
