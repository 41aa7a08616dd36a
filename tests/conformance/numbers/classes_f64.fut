-- isnan, isinf, copysign, recip, the constants.
-- ==
-- input { [0.0, -0.0, 1.0, -1.0, 0.5, -2.75, 3.0, 100.0, f64.inf, -f64.inf, f64.nan] }
-- output {
--   [false, false, false, false, false, false, false, false, false, false, true] [false, false, false,
--   false, false, false, false, false, true, true, false] [-0.0, -0.0, -1.0, -1.0, -0.5, -2.75, -3.0,
--   -100.0, -f64.inf, -f64.inf, f64.nan] [f64.inf, -f64.inf, 1.0, -1.0, 2.0, -0.36363636363636365,
--   0.3333333333333333, 0.01, 0.0, -0.0, f64.nan] f64.inf f64.nan 3.141592653589793 2.718281828459045
--   2.220446049250313e-16 f64.inf -f64.inf
-- }

def main [n] (x: [n]f64) = (map f64.isnan x, map f64.isinf x, map (\v -> f64.copysign v (-1)) x, map f64.recip x, f64.inf, f64.nan, f64.pi, f64.e, f64.epsilon, f64.highest, f64.lowest)
