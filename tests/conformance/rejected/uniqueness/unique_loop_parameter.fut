-- A loop parameter declared unique, from an array that is not.
-- ==
-- error: E02(21|09)

def main (xs: []i32) = loop (ys: *[]i32) = xs for i < 3 do ys
