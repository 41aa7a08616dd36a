-- A definition without a body.
-- ==
-- error: E0101

def main (x: i32) =
