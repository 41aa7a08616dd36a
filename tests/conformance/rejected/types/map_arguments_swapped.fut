-- map with its arguments in the wrong order.
-- ==
-- error: E0202

def main (xs: []i32) = map xs (+ 1)
