-- Nor come from a branch.
-- ==
-- error: E0

def f '^a (b: bool) (x: a) (y: a) = if b then x else y
def main (x: i32) = f true x x
