-- A loop parameter whose type is written without .
-- ==
-- error: E0221

def main (xs: *[]i32) =
  loop xs: []i32 for i < 10 do xs with [i] = i32.i64 i
