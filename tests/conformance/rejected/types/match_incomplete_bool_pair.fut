-- A pair of truth values with a gap.
-- ==
-- error: E0211

def main (a: bool) (b: bool) = match (a, b) case (true, _) -> 1i32 case (_, true) -> 2
