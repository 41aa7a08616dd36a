-- Patterns as parameters.
-- ==
-- input { 0 }
-- output { 3210 }
-- input { 1 }
-- output { 3212 }
-- input { -7 }
-- output { 3196 }
-- input { 100 }
-- output { 3410 }

def f ((a, b): (i32, i32)) (c, d: i32) _ {e: i32} = a + 10 * b + 100 * c + 1000 * d + e
def main (x: i32) = f (x, 1) (2i32, 3) true {e = x}
