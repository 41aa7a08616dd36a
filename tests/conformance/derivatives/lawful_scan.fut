-- An operator that is associative but for a common factor of the pair: only the quotient counts.
-- ==
-- input { [1.0, 1.0, 1.0, 1.0] } output { [0.03125, 0.03125, 0.03125, 0.03125] }

def compose (a: (f64, f64)) (b: (f64, f64)) = let s = 1 / (a.0 + b.0) in (s * a.0 * b.0, s * a.1 * b.1)

def quotients [n] (xs: [n]f64) : [n]f64 =
  map (\(p, q) -> p / q) (#[lawful] scan compose (1, 1) (zip xs (map (+ 1) xs)))

entry main [n] (xs: [n]f64) = vjp (\xs -> last (quotients xs)) xs 1
