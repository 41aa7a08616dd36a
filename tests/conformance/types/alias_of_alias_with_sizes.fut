-- Abbreviations with sizes in terms of each other.
-- ==
-- input { 0i64 }
-- output { 0.0f32 }
-- input { 1i64 }
-- output { 10.5f32 }
-- input { 17i64 }
-- output { 178.5f32 }

type row [m] = [m]f32
type grid [n] [m] = [n](row [m])
type~ pile = [](grid [2] [2])
def total (p: pile): f32 = f32.sum (map (\g -> f32.sum (map f32.sum g)) p)
def main (k: i64) = total (replicate k [[1, 2], [3, 4.5]])
