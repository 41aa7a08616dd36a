-- Numerals as iterated functions.
-- ==
-- input { 0 }
-- output { 4 0 0 }
-- input { 1 }
-- output { 5 16 64 }
-- input { -7 }
-- output { -3 -112 -448 }
-- input { 100 }
-- output { 104 1600 6400 }

def two 'a (f: a -> a) (x: a) = f (f x)
def plus 'a (m: (a -> a) -> a -> a) (n: (a -> a) -> a -> a) f (x: a): a = m f (n f x)
def main (x: i32) = (plus two two (+ 1) x, two (two (* 2)) x, plus two (plus two two) (\y -> y + y) x)
