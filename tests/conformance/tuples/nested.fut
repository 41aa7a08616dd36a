-- Tuples in tuples, by pattern and by projection.
-- ==
-- input { 0 }
-- output { 2 true 0 0 }
-- input { 1 }
-- output { 3 true 2 1 }
-- input { -7 }
-- output { -5 true 42 -7 }
-- input { 100 }
-- output { 102 true 10100 100 }

def main (x: i32) = let t = (x, (x + 1, (x + 2, true))) let (a, (b, _)) = t in (t.1.1.0, t.1.1.1, a * b, t.0)
