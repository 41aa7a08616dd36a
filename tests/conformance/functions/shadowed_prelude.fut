-- Names of the library may be used again.
-- ==
-- input { 0 }
-- output { 5 }
-- input { 1 }
-- output { 7 }
-- input { -7 }
-- output { -9 }
-- input { 100 }
-- output { 205 }

def map (x: i32) = x * 2
def length = 5i32
def main (reduce: i32) = let iota = map reduce in iota + length
