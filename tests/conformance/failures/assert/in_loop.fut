-- An assertion on the state of a loop.
-- ==
-- input { 5 }
-- output { 243 }
-- input { 6 }
-- error: R0103

def main (n: i32): i32 = loop s = 1 for _i < n do assert (s < 100) (s * 3)
