-- A member whose type parameter was not written is not seen as one for functions where it needs data.
-- ==
-- error: E0224

module m: { val choose '^a: bool -> a -> a -> a } = { def choose b x y = if b then x else y }
def main = 1i32
