-- id, const, flip, curry, uncurry, iterate, iterate_while, iterate_until.
-- ==
-- input { 0 }
-- output { 0 0 1 0 0 0 677 677 }
-- input { 1 }
-- output { 1 1 0 3 2 8 677 677 }
-- input { -7 }
-- output { -7 -7 8 -21 -14 -56 50 2501 }
-- input { 60 }
-- output { 60 60 -59 180 120 480 60 60 }

def main (x: i32) = (id x, const x true, flip (-) x 1, curry (\(a, b) -> a * b) x 3, uncurry (+) (x, x),
  iterate 3 (* 2) x, iterate_while (< 50) (\v -> v * v + 1) x, iterate_until (> 50) (\v -> v * v + 1) x)
