-- Square matrices; repeated multiplication.
-- ==
-- input { empty([0][0]i64) 0 }
-- output { empty([0][0]i64) }
-- input { empty([0][0]i64) 1 }
-- output { empty([0][0]i64) }
-- input { empty([0][0]i64) 4 }
-- output { empty([0][0]i64) }
-- input { [[2i64]] 0 }
-- output { [[1i64]] }
-- input { [[2i64]] 1 }
-- output { [[2i64]] }
-- input { [[2i64]] 4 }
-- output { [[16i64]] }
-- input { [[2i64, 1i64, 1i64], [0i64, -1i64, -1i64], [-2i64, -2i64, -3i64]] 0 }
-- output { [[1i64, 0i64, 0i64], [0i64, 1i64, 0i64], [0i64, 0i64, 1i64]] }
-- input { [[2i64, 1i64, 1i64], [0i64, -1i64, -1i64], [-2i64, -2i64, -3i64]] 1 }
-- output { [[2i64, 1i64, 1i64], [0i64, -1i64, -1i64], [-2i64, -2i64, -3i64]] }
-- input { [[2i64, 1i64, 1i64], [0i64, -1i64, -1i64], [-2i64, -2i64, -3i64]] 4 }
-- output { [[-2i64, -17i64, -26i64], [18i64, 31i64, 44i64], [34i64, 70i64, 101i64]] }

def mm [n] (a: [n][n]i64) (b: [n][n]i64): [n][n]i64 = map (\r -> map (\c -> i64.sum (map2 (*) r c)) (transpose b)) a
def main [n] (a: [n][n]i64) (k: i32) = loop p = tabulate_2d n n (\i j -> i64.bool (i == j)) for _i < k do mm p a
