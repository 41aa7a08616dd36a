-- Both parts of a consumed pair are one array.
-- ==
-- error: E0209

def f (p: *([]i32, []i32)) = p
def main (xs: *[]i32) = f (xs, xs)
