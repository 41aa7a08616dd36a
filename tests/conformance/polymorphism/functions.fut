-- One function at several types.
-- ==
-- input { 1 0.5 empty([0]bool) }
-- output { 1 0.5 3 2.0 empty([0]bool) [1] [1] }
-- input { 1 0.5 [true] }
-- output { 1 0.5 3 2.0 [true] [1] [1] }
-- input {
--   1 0.5 [true, true, false, true, true, true, true, true, true, false, true, false, true, true, false,
--   true, false]
-- }
-- output {
--   1 0.5 3 2.0 [true, true, false, true, true, true, true, true, true, false, true, false, true, true,
--   false, true, false] [1] [1]
-- }

def first 'a 'b (x: a) (_: b): a = x
def twice 'a (f: a -> a) (x: a): a = f (f x)
def pairup 'a [n] (xs: [n]a): [n](a, a) = map (\x -> (x, x)) xs
def main (x: i32) (y: f64) (bs: []bool) = (first x y, first y x, twice (+ 1) x, twice (* 2.0) y, map (.0) (pairup bs), unzip (pairup [x]))
