-- Nor as a part of a tuple.
-- ==
-- error: E0221

def main (p: ([]i32, i32)) = p.0 with [0] = p.1
