-- A recursive function whose result has sizes that it does not declare.
-- ==
-- error: E0206

def f (xs: []i32) = if length xs < 2 then xs else f xs[1:]
def main (xs: []i32) = f xs
