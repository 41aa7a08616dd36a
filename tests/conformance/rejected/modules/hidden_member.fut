-- A member that the signature does not show.
-- ==
-- error: E0201

module m: {val x: i32} = {def x = 1i32 def z = 3i32}
def main (y: i32) = m.z + y
