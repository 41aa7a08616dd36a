-- One name twice in a pattern.
-- ==
-- error: E0205

def main (p: (i32, i32)) = let (a, a) = p in a
