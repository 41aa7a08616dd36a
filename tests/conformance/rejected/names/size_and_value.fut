-- A size and a value of one pattern cannot share a name.
-- ==
-- error: E0205.*`n`
def main (xs: []i32) =
  let [n] (n: [n]i32) = xs
  in n
