-- A comparison is no operator for scan.
-- ==
-- error: E020[28]

def main (xs: []i32) = scan (<) 0 xs
