-- isnan, isinf, copysign, recip, the constants.
-- ==
-- input {
--   [0.0f32, -0.0f32, 1.0f32, -1.0f32, 0.5f32, -2.75f32, 3.0f32, 100.0f32, f32.inf, -f32.inf, f32.nan]
-- }
-- output {
--   [false, false, false, false, false, false, false, false, false, false, true] [false, false, false,
--   false, false, false, false, false, true, true, false] [-0.0f32, -0.0f32, -1.0f32, -1.0f32, -0.5f32,
--   -2.75f32, -3.0f32, -100.0f32, -f32.inf, -f32.inf, f32.nan] [f32.inf, -f32.inf, 1.0f32, -1.0f32, 2.0f32,
--   -0.36363637f32, 0.33333334f32, 0.01f32, 0.0f32, -0.0f32, f32.nan] f32.inf f32.nan 3.1415927f32
--   2.7182817f32 1.1920929e-07f32 f32.inf -f32.inf
-- }

def main [n] (x: [n]f32) = (map f32.isnan x, map f32.isinf x, map (\v -> f32.copysign v (-1)) x, map f32.recip x, f32.inf, f32.nan, f32.pi, f32.e, f32.epsilon, f32.highest, f32.lowest)
