-- An argument that lacks a member.
-- ==
-- error: E0

module f (p: {val x: i32}) = {def y = p.x}
module g = f {def z = 1i32}
def main (x: i32) = g.y + x
