-- A member that is local to its module.
-- ==
-- error: E0201

module m = { local def x = 1i32 def y = x }
def main = m.y + m.x
