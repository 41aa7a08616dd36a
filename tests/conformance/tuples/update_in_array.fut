-- An element of an array of pairs is replaced.
-- ==
-- input { [46] }
-- output { [100] [200] }
-- input { [46, 0] }
-- output { [100, 0] [200, 46] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output {
--   [100, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] [200, -32, 13, -42, 4, 49, -6,
--   39, -16, 30, -26, 20, -36, 10, -45, 0, 46]
-- }

def main [n] (xs: [n]i32) = let ps = copy (zip xs (reverse xs)) let ps[0] = (100, 200) in unzip ps
