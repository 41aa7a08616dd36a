-- Nor in the type of a result.
-- ==
-- error: refers to size .n.

def none (n: i64, _: bool) : [0][n]i32 = []
def main (n: i64) = none (n, true)
