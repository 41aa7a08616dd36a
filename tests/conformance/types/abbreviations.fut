-- Abbreviations of types, one in terms of another.
-- ==
-- input { 0 }
-- output { 20 }
-- input { 1 }
-- output { 10 }
-- input { -7 }
-- output { 202 }
-- input { 100 }
-- output { 18820 }

type point = (i32, i32)
type segment = {from: point, to: point}
def len2 (s: segment): i32 = let (dx, dy) = (s.from.0 - s.to.0, s.from.1 - s.to.1) in dx * dx + dy * dy
def main (x: i32) = len2 {from = (x, 2), to = (4, x)}
