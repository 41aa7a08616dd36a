-- A parametric type without its argument.
-- ==
-- error: E0215

type~ v 't = []t
def main (x: v) = x
