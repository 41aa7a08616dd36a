-- A number as condition.
-- ==
-- error: E0202

def main (x: i32) = if x then 1 else 2
