-- Functions in tuples, chosen by projection.
-- ==
-- input { 0 }
-- output { 1 1 }
-- input { 1 }
-- output { 2 4 }
-- input { -7 }
-- output { 50 36 }
-- input { 100 }
-- output { 10001 10201 }

def main (x: i32) = let fs = ((+ 1), \y -> y * y) let (f, g) = fs in (f (g x), fs.1 (fs.0 x))
