-- Deeper rows of different lengths.
-- ==
-- error: E020[34]

def main (x: i32) = [[[x, x]], [[x]]]
