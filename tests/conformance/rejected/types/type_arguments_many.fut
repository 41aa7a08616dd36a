-- A parametric type with too many arguments.
-- ==
-- error: E0215

type~ v 't = []t
def main (x: v i32 i32) = x
