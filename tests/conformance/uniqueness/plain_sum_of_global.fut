-- A sum without arrays shares no data, so a function may give back a global one.
-- ==
-- input { 3 } output { 3 2 }
-- input { 0 } output { 0 1 }
type mode = #fast | #slow i32

type settings = {limit: i32, mode: mode}

def standard : settings = {limit = 1, mode = #slow 2}

def limited (limit: i32) : settings = standard with limit = limit

def cost (s: settings) : i32 = match s.mode case #fast -> 1 case #slow n -> n

def main (x: i32) =
  let s = if x > 0 then limited x else {limit = 0, mode = #fast}
  in (s.limit, cost s)
