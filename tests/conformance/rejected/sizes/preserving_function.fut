-- A function from a type to itself keeps the size.
-- ==
-- error: E0203

def twice 'a (f: a -> a) (x: a) = f (f x)
def main [n] (xs: [n]i32) = twice (\ys -> ys ++ ys) xs
