-- An unknown module type, and uses of the module that say nothing more.
-- ==
-- error: E0220

module m: nowhere = { def x = 1i32 }
def main = m.x + m.y
