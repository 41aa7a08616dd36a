-- let without in.
-- ==
-- error: E0101

def main (x: i32) = (let y = x y)
