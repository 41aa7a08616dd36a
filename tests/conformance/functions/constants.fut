-- Definitions without parameters, computed from others.
-- ==
-- input { 0i64 }
-- output { 0i64 14i64 [0i64, 1i64, 4i64, 9i64] }
-- input { 3i64 }
-- output { 9i64 14i64 [0i64, 1i64, 4i64, 9i64] }

def k: i64 = 4
def table = map (\i -> i * i) (iota k)
def total = i64.sum table
def main (i: i64) = (table[i], total, copy table)
