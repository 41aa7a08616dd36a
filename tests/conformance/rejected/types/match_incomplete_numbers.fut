-- Numbers without a default.
-- ==
-- error: E0211

def main (x: i32) = match x case 0 -> 1i32 case 1 -> 2
