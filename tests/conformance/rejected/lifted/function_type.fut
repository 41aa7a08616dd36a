-- A function type needs `type^`.
-- ==
-- error: E0

type t = i32 -> i32
def main (x: i32) = x
