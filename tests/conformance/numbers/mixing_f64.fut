-- fma, mad, lerp, ldexp, nextafter, from_fraction.
-- ==
-- input { 2.0 3.0 4.0 }
-- output { 10.0 10.0 6.0 16.0 true 0.75 }
-- input { 0.5 -1.5 0.25 }
-- output { -0.5 -0.5 0.0 4.0 true 0.75 }
-- input { 0.0 0.0 1.0 }
-- output { 1.0 1.0 0.0 0.0 true 0.75 }

def main (a: f64) (b: f64) (c: f64) =
  (f64.fma a b c, f64.mad a b c, f64.lerp a b c, f64.ldexp a 3, f64.nextafter a f64.inf > a, f64.from_fraction 3 4)
