-- The same for scan.
-- ==
-- error: E0208

def main (xs: []i32) = scan (\a b -> [a, b]) 0 xs
