-- One entry point twice.
-- ==
-- error: E0205

entry main (x: i32) = x
entry main (x: i32) = x + 1
