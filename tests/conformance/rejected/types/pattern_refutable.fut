-- A let with a pattern that may not fit.
-- ==
-- error: E0211

type o = #some i32 | #none
def f (x: o) = let #some y = x in y
def main (x: i32) = f (#some x)
