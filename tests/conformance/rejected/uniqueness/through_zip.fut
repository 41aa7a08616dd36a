-- Reading a projection of a consumed tuple.
-- ==
-- error: E0209

def main (p: *([]i32, []i32)) = let q = p.0 with [0] = 1 in (q, p.0)
