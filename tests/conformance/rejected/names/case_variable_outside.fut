-- A variable of a case in another case.
-- ==
-- error: E0201

def main (p: i32) = match (p, p) case (0, y) -> y case _ -> y
