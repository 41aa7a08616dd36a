-- A float as a size.
-- ==
-- error: E0(101|202)

def main (a: [1.5]i32) = a
