-- Names that mean something elsewhere.
-- ==
-- entry: void
-- input { 1 2 3 }
-- output { 8 }

def int (float: i32) = float + 1
def x' (__global__: i32) = int __global__
entry void (a'b: i32) (self: i32) (None: i32) = x' a'b + self * None
