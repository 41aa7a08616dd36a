-- A number is applied.
-- ==
-- error: E0213

def main (x: i32) = x 3
