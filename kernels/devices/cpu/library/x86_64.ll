; The level of this processor: 4, 3 and 2 for x86-64-v4, -v3 and -v2, else 1. The masks are the features of the levels in
; the words of `cpuid`, and what the system keeps of registers in the word of `xgetbv`.

define internal { i32, i32, i32, i32 } @ask(i32 %function) {
  %words = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 %function, i32 0)
  ret { i32, i32, i32, i32 } %words
}

define internal i1 @has(i32 %word, i32 %mask) {
  ret i1 (icmp eq i32 (and i32 %word, %mask), %mask)
}

define i64 @soac_library_level() {
  %most = extractvalue { i32, i32, i32, i32 } (call { i32, i32, i32, i32 } @ask(i32 0)), 0
  %c1 = extractvalue { i32, i32, i32, i32 } (call { i32, i32, i32, i32 } @ask(i32 1)), 2
  %c8 = extractvalue { i32, i32, i32, i32 } (call { i32, i32, i32, i32 } @ask(i32 -2147483647)), 2
  ret i64 1 unless call i1 @has(i32 %c1, i32 $V2_FEATURES$) && call i1 @has(i32 %c8, i32 $V2_EXTENDED$)
  ret i64 2 unless call i1 @has(i32 %c1, i32 $V3_FEATURES$) && call i1 @has(i32 %c8, i32 $V3_EXTENDED$)
  ret i64 2 if icmp ult i32 %most, 7
  %kept = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)
  %registers = extractvalue { i32, i32 } %kept, 0
  %b7 = extractvalue { i32, i32, i32, i32 } (call { i32, i32, i32, i32 } @ask(i32 7)), 1
  ret i64 2 unless call i1 @has(i32 %b7, i32 $V3_MORE$) && call i1 @has(i32 %registers, i32 $V3_REGISTERS$)
  %avx512 = call i1 @has(i32 %b7, i32 $V4_MORE$)
  %level = select i1 (and i1 %avx512, (call i1 @has(i32 %registers, i32 $V4_REGISTERS$))), i64 4, i64 3
  ret i64 %level
}
