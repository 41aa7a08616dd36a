-- A row copied over another.
-- ==
-- input { 2i64 }
-- output { [[99i64, 1i64], [99i64, 1i64]] }
-- input { 3i64 }
-- output { [[99i64, 1i64, 2i64], [99i64, 1i64, 2i64], [20i64, 21i64, 22i64]] }

def main (n: i64) = let a = tabulate_2d n n (\i j -> i * 10 + j) let a[0, 0] = 99 let r = copy a[0] let a[1] = r in a
