; Whether the stack of this thread has room for another call of a function of a host program.

; Gives 0 if there is room. The first word of a table says where calls have to end, 0 for not known yet; the second,
; whether the thread has been asked for it: before that, what any thread has must do.
define i64 @soac_host_room(ptr %calls) {
  %here = ptrtoint ptr (call ptr @llvm.frameaddress.p0(i32 0)) to i64
  %end = load i64, ptr %calls
  goto %look if icmp ne i64 %end, 0
  store i64 (sub i64 %here, $STACK_OF_ANY$), ptr %calls
  ret i64 0
look:
  ret i64 0 if icmp sgt i64 %here, %end
  ret i64 1 if icmp ne i64 (load i64, ptr %calls[1]), 0
  store i64 1, ptr %calls[1]
  %lowest = call i64 @lowest(i64 %end)
  store i64 %lowest, ptr %calls
  ret i64 1 if icmp sle i64 %here, %lowest
  ret i64 0
}

; Where calls on this thread have to end: what kernels and compilers need, is left; %else where nobody knows.
define internal i64 @lowest(i64 %else) {
  %attributes = alloca [16 x i64], align 16
  %start_place = alloca i64, align 8
  %size_place = alloca i64, align 8
  store i64 0, ptr %size_place
linux:  %self = call ptr @pthread_self()
linux:  goto %asked if icmp ne i32 (call i32 @pthread_getattr_np(ptr %self, ptr %attributes)), 0
linux:  call i32 @pthread_attr_getstack(ptr %attributes, ptr %start_place, ptr %size_place)
linux:  call i32 @pthread_attr_destroy(ptr %attributes)
linux:asked:
  %start = load i64, ptr %start_place
  %size = load i64, ptr %size_place
  goto %unknown if icmp eq i64 %size, 0
  %end = add i64 %start, (call i64 @llvm.smax.i64(i64 (lshr i64 %size, 3), i64 $STACK_LEFT$))
  ret i64 %end
unknown:
  ret i64 %else
}
