-- A literal of which all bits are wanted, in a type without a sign.
-- ==
-- error: E0104

def main [n] (xs: [n]u64): u64 = reduce (&) (-1) xs
