-- A Greek letter.
-- ==
-- error: E0102

def main (x: i32) = (λy -> y) x
