-- Several entry points, one of which calls another.
-- ==
-- entry: double
-- input { 0 }
-- output { 0 }
-- input { 1 }
-- output { 2 }
-- input { -7 }
-- output { -14 }
-- input { 100 }
-- output { 200 }
-- ==
-- entry: quad
-- input { 0 }
-- output { 0 }
-- input { 1 }
-- output { 4 }
-- input { -7 }
-- output { -28 }
-- input { 100 }
-- output { 400 }

def helper (x: i32) = x * 2
entry double (x: i32): i32 = helper x
entry quad (x: i32): i32 = double (double x)
def unused (x: i32): i32 = x / 0
