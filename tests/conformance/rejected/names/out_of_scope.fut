-- A local name outside its expression.
-- ==
-- error: E0201

def main (x: i32) = (let y = x in y) + y
