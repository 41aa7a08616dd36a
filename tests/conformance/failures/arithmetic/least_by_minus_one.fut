-- The least number divided by -1 is no failure.
-- ==
-- input { -2147483648 -1 }
-- output { -2147483648 0 -2147483648 0 }

def main (x: i32) (y: i32) = (x / y, x % y, x // y, x %% y)
