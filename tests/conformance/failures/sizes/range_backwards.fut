-- A range whose end lies before its start.
-- ==
-- input { 2 5 }
-- output { [2, 3, 4] }
-- input { 5 5 }
-- output { empty([0]i32) }
-- input { 6 2 }
-- error: R01

def main (a: i32) (b: i32): []i32 = a..<b
