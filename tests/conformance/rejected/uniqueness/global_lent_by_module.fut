-- In a module, too, a function may not give out an array of the program's own; where a type hides the array, what
-- is given is never consumed.
-- ==
-- error: E022[12]

module m: { val get: i64 -> [3]i32 } = { def table: [3]i32 = [1, 2, 3] def get (_: i64) = table }
module s: { type state  val start: state  val all: state -> [3]i32 } = {
  type state = [3]i32
  def start: state = [1, 2, 3]
  def all (s: state) = s
}
def begin (_: i64) = s.all s.start
def main (i: i64) = begin i with [0] = 5
