-- A base and an exponent of two types.
-- ==
-- error: E0202

def main (a: f32) (b: i32) = a ** b
