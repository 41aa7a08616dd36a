-- `unsafe` takes assertions on trust.
-- ==
-- entry: trusted
-- input { 7 } output { 3 }
-- ==
-- entry: outside
-- input { 7 } error: x % 2 == 0

entry trusted (x: i32) = #[unsafe] assert (x % 2 == 0) (x / 2)
entry outside (x: i32) = assert (x % 2 == 0) (#[unsafe] x / 2)
