-- What a loop makes longer is not as long as before.
-- ==
-- error: E0203

def main [n] (xs: [n]i32) : [n]i32 = loop ys = xs for i < 3 do ys ++ [i]
