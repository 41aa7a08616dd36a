-- A type parameter is not any type one likes.
-- ==
-- error: E0202

def f 'a (x: a): a = 3
def main (x: i32) = f x
