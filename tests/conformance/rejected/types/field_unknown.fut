-- A field that is not there.
-- ==
-- error: E0212

def main (x: i32) = let r = {abc = x, d = 2} in r.abd
