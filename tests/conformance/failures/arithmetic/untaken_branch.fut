-- What fails stands in a branch that is not taken.
-- ==
-- input { false 1 0 }
-- output { 1 }
-- input { true 6 2 }
-- output { 4 }
-- input { true 6 0 }
-- error: R0102

def main (b: bool) (x: i32) (y: i32): i32 = let q = if b then x / y else 0 in q + 1
