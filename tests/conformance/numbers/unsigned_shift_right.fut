-- >>> is a logical shift on signed numbers.
-- ==
-- input { [-1i8, -128i8, 127i8, -2i8, -1i8] [1i8, 7i8, 3i8, 0i8, 8i8] }
-- output { [127i8, 1i8, 15i8, -2i8, 0i8] }

def main [n] (a: [n]i8) (b: [n]i8): [n]i8 = map2 (>>>) a b
