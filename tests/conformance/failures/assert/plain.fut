-- An assertion that fails.
-- ==
-- input { 2 }
-- output { 4 }
-- input { 0 }
-- error: R0103
-- input { -5 }
-- error: R0103

def main (x: i32): i32 = assert (x > 0) (x * 2)
