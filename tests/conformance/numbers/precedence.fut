-- Which operators bind tighter.
-- ==
-- input { 5 3 }
-- output { 11 16 1 64 25 1 false 6 20 true -2 -15 }
-- input { 2 7 }
-- output { 16 18 -6 64 4 5 true 0 8 true 5 -14 }
-- input { -4 -4 }
-- output { -12 -16 -1 64 16 0 false -2 -16 false 0 -16 }

def main (x: i32) (y: i32) = (x + y * 2, (x + y) * 2, x - y - 1, 2 ** 3 ** 2, -x ** 2, -x % y, x & 6 == 2, x | 1 ^ 3, x << 1 + 1, x + 1 < y || x > y && !(x == y), - x + y, x * -y)
