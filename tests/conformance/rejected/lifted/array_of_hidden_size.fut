-- An array of a type with a hidden size.
-- ==
-- error: E0

type~ t = []i32
def main (xs: []t) = length xs
