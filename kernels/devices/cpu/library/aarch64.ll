; The level of this processor: its targets are of one.

define i64 @soac_library_level() {
  ret i64 1
}
