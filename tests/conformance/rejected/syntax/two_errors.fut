-- Several independent errors are all reported.
-- ==
-- error: E0202.*E0201.*E0202

def f (x: i32) = x + true
def g (x: i32) = unknown x
def main (x: i32) = x : f32
