-- A size expression consumes nothing of its surroundings.
-- ==
-- error: E0221

def take_all (xs: *[]i64): i64 = length (xs with [0] = 1)
def main [n] (ns: *[n]i64) (xs: [take_all ns]f32) = xs[0]
