-- Two parameters of one type parameter.
-- ==
-- error: E0202

def f 'a (x: a) (y: a) = x
def main (x: i32) (b: bool) = f x b
