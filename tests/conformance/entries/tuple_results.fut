-- A tuple result is several values; a nested one too.
-- ==
-- input { 0 }
-- output { 0 false [0, 0] }
-- input { 1 }
-- output { 1 true [1, -1] }
-- input { -7 }
-- output { -7 false [-7, 7] }
-- input { 100 }
-- output { 100 true [100, -100] }

def main (x: i32): ((i32, bool), [2]i32) = ((x, x > 0), [x, -x])
