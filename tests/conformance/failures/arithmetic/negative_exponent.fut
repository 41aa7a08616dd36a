-- A negative integer exponent.
-- ==
-- input { 2 10 }
-- output { 1024 }
-- input { 2 -1 }
-- error: R0102.*negative
-- input { 0 0 }
-- output { 1 }

def main (x: i32) (y: i32): i32 = x ** y
