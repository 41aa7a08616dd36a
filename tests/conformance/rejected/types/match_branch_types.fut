-- Cases that give different types.
-- ==
-- error: E0202

def main (x: i32) = match x case 0 -> 1i32 case _ -> true
