-- An array that no machine holds.
-- ==
-- input { 5i64 }
-- output { 8i64 }

def main (n: i64): i64 = length (replicate n 0f64) + length (replicate 3 1i32)
