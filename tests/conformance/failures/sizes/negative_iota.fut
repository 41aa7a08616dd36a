-- iota of a negative number.
-- ==
-- input { 0i64 }
-- output { empty([0]i64) }
-- input { -1i64 }
-- error: R0104.*-1
-- input { -9223372036854775808i64 }
-- error: R0104

def main (n: i64): []i64 = iota n
