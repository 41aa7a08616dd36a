-- An argument of another type.
-- ==
-- error: E0202

def f (x: i32) = x
def main (y: f32) = f y
