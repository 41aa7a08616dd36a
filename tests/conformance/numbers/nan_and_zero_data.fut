-- NaN, infinities and negative zero in data, kept through arrays.
-- ==
-- input { [0.0, -0.0, 5e-324, f64.nan, f64.inf, -f64.inf, 1.0] }
-- output {
--   [0.0, -0.0, 5e-324, f64.nan, f64.inf, -f64.inf, 1.0] [f64.inf, -f64.inf, f64.inf, f64.nan, 0.0, -0.0,
--   1.0] f64.inf [0.0, -0.0, -0.0, -0.0, -0.0, -f64.inf, -f64.inf]
-- }

def main [n] (xs: [n]f64) = (xs, map (\x -> 1 / x) xs, reduce f64.max (-f64.inf) xs, scan f64.min f64.inf xs)
