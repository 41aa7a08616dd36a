-- An entry point inside a module.
-- ==
-- error: E0219

module inner = { entry twice (x: i32) = 2 * x }
entry main (x: i32) = inner.twice x
