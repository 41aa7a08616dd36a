-- isnan, isinf, copysign, recip, the constants.
-- ==
-- input {
--   [0.0f16, -0.0f16, 1.0f16, -1.0f16, 0.5f16, -2.75f16, 3.0f16, 100.0f16, f16.inf, -f16.inf, f16.nan]
-- }
-- output {
--   [false, false, false, false, false, false, false, false, false, false, true] [false, false, false,
--   false, false, false, false, false, true, true, false] [-0.0f16, -0.0f16, -1.0f16, -1.0f16, -0.5f16,
--   -2.75f16, -3.0f16, -100.0f16, -f16.inf, -f16.inf, f16.nan] [f16.inf, -f16.inf, 1.0f16, -1.0f16, 2.0f16,
--   -0.3635f16, 0.3333f16, 0.01f16, 0.0f16, -0.0f16, f16.nan] f16.inf f16.nan 3.14f16 2.719f16 0.000977f16
--   f16.inf -f16.inf
-- }

def main [n] (x: [n]f16) = (map f16.isnan x, map f16.isinf x, map (\v -> f16.copysign v (-1)) x, map f16.recip x, f16.inf, f16.nan, f16.pi, f16.e, f16.epsilon, f16.highest, f16.lowest)
