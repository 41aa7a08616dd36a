-- A size where a type is needed.
-- ==
-- error: E0215

type v 't = (t, t)
def main [n] (x: v [n]) (y: [n]i32) = x
