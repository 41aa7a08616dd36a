-- Types and values have names of their own.
-- ==
-- input { 0 }
-- output { 1 }
-- input { 1 }
-- output { 2 }
-- input { -7 }
-- output { -6 }
-- input { 100 }
-- output { 101 }

type x = i32
def x (x: x): x = x + 1
def main (i32: i32): i32 = x i32
