-- A type that contains itself.
-- ==
-- error: E02(06|14)

type t = (i32, t)
def main (x: i32) = x
