-- One field twice.
-- ==
-- error: E0205

def main (x: i32) = {a = x, a = 2}
