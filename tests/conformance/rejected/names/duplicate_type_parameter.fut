-- One type parameter twice.
-- ==
-- error: E0205

def f 'a 'a (x: a) = x
def main (x: i32) = f x
