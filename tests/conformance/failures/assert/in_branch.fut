-- Only the branch that is taken.
-- ==
-- input { false -1 }
-- output { -1 }
-- input { true -1 }
-- error: R0103

def main (b: bool) (x: i32): i32 = if b then assert (x > 0) x else x
