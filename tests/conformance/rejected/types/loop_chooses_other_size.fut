-- An inner loop chooses among two parts whose sizes differ.
-- ==
-- error: E0203

entry main [n][m] (x: [n]i64) (z: [m]i64): ([n]i64, [m]i64) =
  loop (best, y) = (x, z) for i < n do
    loop (best, y) = (best, map (+ i) y) for j < 2 do if y[j] > best[j] then (y, y) else (best, y)
