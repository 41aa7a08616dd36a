-- Types in expressions, patterns and results.
-- ==
-- input { 0 }
-- output { 1 2.0 }
-- input { 1 }
-- output { 2 2.0 }
-- input { -7 }
-- output { -6 2.0 }
-- input { 100 }
-- output { 101 2.0 }

def main (x: i32): (i32, f64) = let (a: i32, b): (i32, f64) = (x, 2: f64) let c = (a : i32) + 1 in (c, b : f64)
