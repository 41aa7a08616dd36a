-- A local function that calls itself.
-- ==
-- error: E02(01|06)

def main (x: i32) = let f (y: i32): i32 = if y == 0 then 0 else f (y - 1) in f x
