-- Values of a type parameter cannot be added.
-- ==
-- error: E0202

def f 'a (x: a) (y: a) = x + y
def main (x: i32) = f x x
