-- A function that chooses a size, before one that takes an array of it.
-- ==
-- error: [Ee]xistential size

def main (xs: []i32) = (filter (> 0) >-> length) xs
