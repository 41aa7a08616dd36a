-- Functions as fields.
-- ==
-- input { 0 }
-- output { 3 10 }
-- input { 1 }
-- output { 4 11 }
-- input { -7 }
-- output { -4 3 }
-- input { 100 }
-- output { 103 110 }

def main (x: i32) = let ops = {add = \a b -> a + b + 0i32, twice = \(f: i32 -> i32) y -> f (f y)} in (ops.add x 3, ops.twice (ops.add 5) x)
