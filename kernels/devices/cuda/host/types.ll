; What compiled host programs of a GPU call: what the files of this folder share. Functions are those of `descriptors.ll` and
; `trace.ll` beside the CPU's runtime; memory, copies and launches are the driver's, by the addresses of its functions.

%Array = type { ptr, ptr, [0 x i64] }  ; buffer data sizes
%Axis = type { i64, i64, i64 }  ; size to from
%Buffer = type { i64, i64, i64, ptr, ptr, ptr }  ; references class capacity address gpu next
%Gpu = type { ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, ptr, i64, i64, i64, i64, i64, i64, ptr, ptr, i64, i64, i64, ptr, ptr }  ; launch download upload copy clear set_16 set_32 wait stream allocate free stacks need record pinned multiprocessors pending failing error stack stack_room bulk lists launches downloads allocations queue marks
%Graph = type { ptr, i64, ptr, ptr, ptr }  ; handle count steps data nodes
%Kernel = type { i64, i64, i64, i64, [256 x ptr] }  ; most threads block_stack thread_stack variants
%Marks = type { ptr, i64, i64, ptr, ptr }  ; events room used record more
%Queue = type { i64, i64, i64, [8 x i64], i64, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr }  ; turns turn count missed updates steps data graphs launch set_kernel set_copy context make
%Step = type { ptr, i64, i64, i64, i64 }  ; code grid threads shared bytes
%Variant = type { ptr, i64, i64, i64, i64, i64, i64, i64 }  ; code threads together turns fails stacks shared_left near

; The GPU that a call is on.
define internal ptr @gpu_of(ptr %state) {
  ret ptr (load ptr, ptr %state[$DEVICE_WORD$])
}

; Keep the first error of the driver: what is launched behind it fails with it.
define internal void @noted(ptr %gpu, i32 %code) {
  ret void if icmp eq i32 %code, 0
  %before = load i64, ptr %gpu->Gpu.error
  store i64 (select i1 (icmp eq i64 %before, 0), i64 (zext i32 %code to i64), i64 %before), ptr %gpu->Gpu.error
}

; One more of what a word of the GPU counts.
define internal void @counted(ptr %word) {
  store i64 (add i64 (load i64, ptr %word), 1), ptr %word
}
