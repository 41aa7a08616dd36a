-- A polymorphic entry point.
-- ==
-- error: E0219

entry main 'a (x: a) = x
