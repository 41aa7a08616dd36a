-- Values of an abstract type are not compared.
-- ==
-- error: E0202

module m: { type t val x: t } = { type t = i32 def x = 1i32 }
def main = m.x == m.x
