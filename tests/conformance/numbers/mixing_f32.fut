-- fma, mad, lerp, ldexp, nextafter, from_fraction.
-- ==
-- input { 2.0f32 3.0f32 4.0f32 }
-- output { 10.0f32 10.0f32 6.0f32 16.0f32 true 0.75f32 }
-- input { 0.5f32 -1.5f32 0.25f32 }
-- output { -0.5f32 -0.5f32 0.0f32 4.0f32 true 0.75f32 }
-- input { 0.0f32 0.0f32 1.0f32 }
-- output { 1.0f32 1.0f32 0.0f32 0.0f32 true 0.75f32 }

def main (a: f32) (b: f32) (c: f32) =
  (f32.fma a b c, f32.mad a b c, f32.lerp a b c, f32.ldexp a 3, f32.nextafter a f32.inf > a, f32.from_fraction 3 4)
