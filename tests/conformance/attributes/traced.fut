-- ==
-- input { [1, 2] } output { 3 [1, 2] [1, 2] [[1, 2], [1, 2]] }
def main (xs: []i32) = (trace (i32.sum xs), trace xs, opaque xs, #[opaque] replicate 2 (opaque xs))
