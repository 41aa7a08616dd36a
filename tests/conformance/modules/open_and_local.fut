-- open, and m.(e).
-- ==
-- input { 0 }
-- output { 100 10 20 -2147483646 }
-- input { 1 }
-- output { 110 11 20 -2147483646 }
-- input { -7 }
-- output { 30 3 20 -2147483646 }
-- input { 100 }
-- output { 1100 110 20 -2147483549 }

module m = { def k = 10i32 def add (x: i32) = x + k }
module n = { open m def k2 = k * 2 }
open n
def main (x: i32) = (m.(add x * k), add x, k2, i32.(max x 3 + highest))
