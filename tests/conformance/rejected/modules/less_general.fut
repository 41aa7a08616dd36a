-- A definition for one type where the signature asks for any.
-- ==
-- error: E0224

module m: { val f 'a: a -> a } = { def f (x: i32) = x }
def main = m.f true
