-- An entry point that gives a function in a tuple.
-- ==
-- error: E02(02|19)

entry main (x: i32) = (x, \y -> x + y : i32)
