-- Branches of different rank.
-- ==
-- error: E0202

def main (b: bool) (xs: []i32) = if b then xs else xs[0]
