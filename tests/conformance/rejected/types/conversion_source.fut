-- A conversion applied to another type.
-- ==
-- error: E0202

def main (x: i64) = f32.i32 x
