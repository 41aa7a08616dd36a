-- A size of an entry point that its argument has only as part of a sum.
-- ==
-- error: E0219

entry main [k] (xs: [k + 2]i32) = (k, xs[0])
