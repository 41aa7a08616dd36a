-- `%%` by zero.
-- ==
-- input { 7 2 }
-- output { 1 }
-- input { 7 0 }
-- error: R0102.*division by zero
-- input { 0 0 }
-- error: R0102

def main (x: i32) (y: i32): i32 = x %% y
