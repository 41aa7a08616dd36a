-- A type that a module type declares without hidden sizes stays such a type where `with` puts in one that may have
-- them: what is called `type ctx` there can be abbreviated as `type` again. A type parameter may be called the same.
-- ==
-- entry: sums
-- input { [1i64, 2i64, 3i64] 10i64 } output { 16i64 3i64 }
-- input { empty([0]i64) 4i64 } output { 4i64 0i64 }
-- ==
-- entry: plain
-- input { [5i64, 6i64] 7i64 } output { 18i64 }

module type keyed = {
  type~ ctx
  val weight : ctx -> i64
}

module type store = {
  type ctx
  type store 'ctx [n]
  val make [n] : ctx -> [n]i64 -> store ctx [n]
  val total [n] : store ctx [n] -> i64
}

module mk_store (K: keyed) : store with ctx = K.ctx = {
  type~ ctx = K.ctx
  type store 'ctx [n] = {ctx: ctx, rows: [n]i64}
  def make [n] (ctx: ctx) (rows: [n]i64) : store ctx [n] = {ctx, rows}
  def total [n] (s: store ctx [n]) = K.weight s.ctx + i64.sum s.rows
}

module mk_sized (K: keyed) = {
  module inner = mk_store K
  type ctx = inner.ctx
  type~ sized = ?[n].inner.store ctx [n]
  def total (s: sized) : i64 = inner.total s
  def make (c: ctx) (rows: []i64) : sized = inner.make c rows
}

module by_number = mk_sized {
  type ctx = i64
  def weight (x: i64) = x
}

module by_array = mk_sized {
  type~ ctx = ?[k].[k]i64
  def weight (xs: ctx) = i64.sum xs
}

entry sums [n] (xs: [n]i64) (x: i64) : (i64, i64) =
  (by_number.total (by_number.make x xs), by_array.total (by_array.make (map (const 1) xs) (map (const 0) xs)))

entry plain [n] (xs: [n]i64) (x: i64) : i64 =
  by_number.total (by_number.make x xs)
