-- Consumed in a case, used afterwards.
-- ==
-- error: E0209

def main (k: i32) (xs: *[]i32) = let ys = match k case 0 -> xs with [0] = 1 case _ -> [2] in (xs, ys)
