-- A case of another type.
-- ==
-- error: E0202

def main (x: i32) = match x case true -> 1i32 case _ -> 2
