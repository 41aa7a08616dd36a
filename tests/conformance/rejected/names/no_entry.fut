-- A program without entry points.
-- ==
-- error: E0001

def f (x: i32) = x
