-- A function parameter whose result size depends on its argument.
-- ==
-- input { 0i64 }
-- output { 0i64 0i64 0i64 }
-- input { 1i64 }
-- output { 0i64 1i64 2i64 }
-- input { 5i64 }
-- output { 10i64 25i64 30i64 }

def apply (f: (n: i64) -> [n]i64) (k: i64): i64 = i64.sum (f k)
def main (k: i64) = (apply iota k, apply (\n -> replicate n n) k, apply (\n -> map (* 2) (iota n)) (k + 1))
