-- The remainder of floats has the sign of the divisor.
-- ==
-- input { [5.5, -5.5, 5.5, -5.5, 0.0, 7.0] [2.0, 2.0, -2.0, -2.0, 3.0, 0.5] }
-- output { [1.5, 0.5, -0.5, -1.5, 0.0, 0.0] }

def main [n] (a: [n]f64) (b: [n]f64): [n]f64 = map2 (%) a b
