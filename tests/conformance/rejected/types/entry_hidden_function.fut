-- An abstract type that hides a function, as an argument of an entry point.
-- ==
-- error: E0219

module counters : { type^ counter  val step : counter -> i32 } = {
  type^ counter = {next: i32 -> i32}
  def step (c: counter) = c.next 1
}

entry main (c: counters.counter) = counters.step c
