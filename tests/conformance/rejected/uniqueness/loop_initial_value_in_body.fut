-- ==
-- error: `a` is used after it was consumed

def main [n] (array: [n]i32) : []i32 =
  loop a = copy array
  for i in 1..<n do
    let (moved, j) =
      loop (moved, j) = (a, i)
      while j > 0 && a[j - 1] > array[i] do
        (moved with [j] = moved[j - 1], j - 1)
    in moved with [j] = array[i]
