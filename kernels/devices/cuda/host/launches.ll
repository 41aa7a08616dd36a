; Launches, and what the host waits for. A failing check writes its number and its values into $RECORD_WORDS$ words of the
; GPU, which later kernels look at; behind them there is room for a scalar, so that one copy brings both.

; ---- what the host waits for

; Copy %bytes bytes to the pinned memory at %to, and wait for all work.
define internal void @fetched(ptr %gpu, ptr %to, ptr %from, i64 %bytes) {
  call void @flush(ptr %gpu)
  %stream = load ptr, ptr %gpu->Gpu.stream
  call void @counted(ptr %gpu->Gpu.downloads)
  call void @noted(ptr %gpu, i32 (call i32 *%gpu->Gpu.download(ptr %to, ptr %from, i64 %bytes, ptr %stream)))
  call void @noted(ptr %gpu, i32 (call i32 *%gpu->Gpu.wait(ptr %stream)))
}

define internal i64 @status_of(ptr %gpu) {
  %status = select i1 (icmp eq i64 (load i64, ptr %gpu->Gpu.error), 0), i64 $FINE$, i64 $DRIVER$
  ret i64 %status
}

; What has failed so far, after %extra more bytes behind the record were fetched with it.
define internal i64 @looked(ptr %state, ptr %gpu, i64 %extra) {
  %record = inttoptr i64 (load i64, ptr %gpu->Gpu.record) to ptr
  %pinned = load ptr, ptr %gpu->Gpu.pinned
  call void @fetched(ptr %gpu, ptr %pinned, ptr %record, i64 (add i64 %extra, $RECORD_BYTES$))
  store i64 0, ptr %gpu->Gpu.pending
  %status = call i64 @status_of(ptr %gpu)
  goto %done if icmp ne i64 %status, $FINE$
  goto %copy if icmp ne i64 (load i64, ptr %pinned), 0
none:
  store i64 0, ptr %gpu->Gpu.failing
  br label %done
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr (load ptr, ptr %state[$RECORD_WORD$]), ptr %pinned, i64 $RECORD_BYTES$, i1 false)
done:
  %result = phi i64 [ %status, %entry ], [ $FINE$, %none ], [ $KERNEL$, %copy ]
  ret i64 %result
}

; If the run is timed, note that a branch begins or ends, and the number of the event in the stream that tells when:
; behind what was launched before, a graph that is not full included.
define i64 @soac_host_mark(ptr %state, i64 %what) {
  ret i64 $FINE$ if icmp eq i64 (load i64, ptr %state[$TIMED_WORD$]), 0
  %gpu = call ptr @gpu_of(ptr %state)
  call void @flush(ptr %gpu)
  %marks = load ptr, ptr %gpu->Gpu.marks
  %used = load i64, ptr %marks->Marks.used
  goto %record if icmp slt i64 %used, (load i64, ptr %marks->Marks.room)
  call void *%marks->Marks.more(ptr %gpu)
  ret i64 $NO_CODE$ if icmp sge i64 %used, (load i64, ptr %marks->Marks.room)
record:
  %events = load ptr, ptr %marks->Marks.events
  %event = load ptr, ptr %events[%used]
  call void @noted(ptr %gpu, i32 (call i32 *%marks->Marks.record(ptr %event, ptr (load ptr, ptr %gpu->Gpu.stream))))
  store i64 (add i64 %used, 1), ptr %marks->Marks.used
  ret i64 (call i64 @soac_host_append(ptr %state, i64 %what, i64 %used))
}

; Wait for all work of a call.
define i64 @soac_host_finish(ptr %state) {
  %gpu = call ptr @gpu_of(ptr %state)
  goto %wait if icmp eq i64 (load i64, ptr %gpu->Gpu.pending), 0
  ret i64 (call i64 @looked(ptr %state, ptr %gpu, i64 0))
wait:
  call void @flush(ptr %gpu)
  call void @noted(ptr %gpu, i32 (call i32 *%gpu->Gpu.wait(ptr (load ptr, ptr %gpu->Gpu.stream))))
  ret i64 (call i64 @status_of(ptr %gpu))
}

; The element of %width bytes at %address into the host's memory at %to, with the record where something may have failed.
define i64 @soac_host_read(ptr %state, i64 %address, i64 %width, ptr %to) {
  %gpu = call ptr @gpu_of(ptr %state)
  %of = load %Gpu, ptr %gpu
  %from = inttoptr i64 %address to ptr
  %slot = getelementptr i8, ptr (extractvalue %Gpu %of, $Gpu.pinned$), i64 $RECORD_BYTES$
  goto %both if icmp ne i64 (extractvalue %Gpu %of, $Gpu.pending$), 0
alone:
  call void @fetched(ptr %gpu, ptr %slot, ptr %from, i64 %width)
  %fetched = call i64 @status_of(ptr %gpu)
  br label %done
both:
  call void @flush(ptr %gpu)
  %copy = extractvalue %Gpu %of, $Gpu.copy$
  %behind = inttoptr i64 (add i64 (extractvalue %Gpu %of, $Gpu.record$), $RECORD_BYTES$) to ptr
  %copied = call i32 %copy(ptr %behind, ptr %from, i64 %width, ptr (extractvalue %Gpu %of, $Gpu.stream$))
  call void @noted(ptr %gpu, i32 %copied)
  %looked = call i64 @looked(ptr %state, ptr %gpu, i64 %width)
done:
  %status = phi i64 [ %fetched, %alone ], [ %looked, %both ]
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %slot, i64 %width, i1 false)
  ret i64 %status
}

; ---- launches

; Start %grid blocks of a kernel of the driver, now or with those of other turns of a loop.
define internal void @start(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %params, i64 %bytes) {
  ret void if call i1 @kept(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %params, i64 %bytes)
  call void @start_now(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %params, i64 %bytes)
}

define internal void @start_now(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %params, i64 %bytes) {
  %stream = load ptr, ptr %gpu->Gpu.stream
  %size = alloca i64, align 8
  %extra = alloca [5 x ptr], align 8
  store i64 %bytes, ptr %size
  store ptr inttoptr (i64 1 to ptr), ptr %extra
  store ptr %params, ptr %extra[1]
  store ptr inttoptr (i64 2 to ptr), ptr %extra[2]
  store ptr %size, ptr %extra[3]
  store ptr null, ptr %extra[4]
  %x = trunc i64 %grid to i32
  %t = trunc i64 %threads to i32
  %s = trunc i64 %shared to i32
  call void @counted(ptr %gpu->Gpu.launches)
  %code_of = call i32 *%gpu->Gpu.launch(ptr %code, i32 %x, i32 1, i32 1, i32 %t, i32 1, i32 1, i32 %s, ptr %stream, ptr null, ptr %extra)
  call void @noted(ptr %gpu, i32 %code_of)
}

; Launch kernel number %number for %blocks blocks. Its parameters begin with seven words, which are filled in here. What
; launches were set to is 0 where it is not set: each block of the grid does the work of %factor, and has %asked threads. Where
; indices do not fit 32 bits, %wide says so. Where the variant has all arrays of a block in shared memory, and they do not fit, it is
; the one with arrays that may be in global memory. The peaks are the bytes of its stacks, -1 where only the kernel finds out.
define i64 @soac_host_launch(ptr %state, ptr %params, i64 %bytes, i64 %number, i64 %blocks, i64 %factor, i64 %asked, i64 %block_peak, i64 %thread_peak, i1 %wide) {
  ret i64 $FINE$ if icmp sle i64 %blocks, 0
  %gpu = call ptr @gpu_of(ptr %state)
  goto %choose if icmp slt i64 (load i64, ptr %gpu->Gpu.failing), $MOST_UNSEEN$
  %looked = call i64 @looked(ptr %state, ptr %gpu, i64 0)
  goto %choose if icmp eq i64 %looked, $FINE$
  ret i64 %looked
choose:
  %kernels = load ptr, ptr %state[$KERNELS_WORD$]
  %kernel = load ptr, ptr %kernels[%number]
  %f = call i64 @llvm.smax.i64(i64 %factor, i64 (sdiv i64 (add i64 %blocks, $ALMOST_GRID$), $MOST_GRID$))
  %warps = lshr i64 (call i64 @threads_of(ptr %kernel, i64 %asked)), 5
  %narrow_place = add i64 (select i1 (icmp sgt i64 %f, 1), i64 31, i64 -1), %warps
  %first_place = add i64 %narrow_place, (select i1 %wide, i64 64, i64 0)
look:
  %which = phi i64 [ %first_place, %choose ], [ %far_place, %beyond ]
  %place = getelementptr %Kernel, ptr %kernel, i32 0, i32 $Kernel.variants$, i64 %which
  %known = load ptr, ptr %place
  goto %go if icmp ne ptr %known, null
ask:
  call void *%state[$NEED_WORD$](i64 %number, i64 %which)
  %made = load ptr, ptr %place
  ret i64 $NO_CODE$ if icmp eq ptr %made, null
go:
  %variant = phi ptr [ %known, %look ], [ %made, %ask ]
  %v = load %Variant, ptr %variant
  %may_have = extractvalue %Variant %v, $Variant.shared_left$
  goto %prepare if icmp eq i64 (extractvalue %Variant %v, $Variant.near$), 0
  goto %prepare if icmp ule i64 %block_peak, (sdiv i64 %may_have, (extractvalue %Variant %v, $Variant.together$))
beyond:
  %far_place = add i64 %which, 128
  br label %look
prepare:
  %together = extractvalue %Variant %v, $Variant.together$
  %own_threads = extractvalue %Variant %v, $Variant.threads$
  %memory = getelementptr i64, ptr %params, i64 3
  call void @llvm.memcpy.p0.p0.i64(ptr %memory, ptr @no_stack, i64 32, i1 false)
  goto %sized if icmp eq i64 (extractvalue %Variant %v, $Variant.stacks$), 0
stacked:
  %most_at_once = call i64 @stack(ptr %gpu, ptr %kernel, %Variant %v, i64 %blocks, i64 %block_peak, i64 %thread_peak, ptr %memory)
  ret i64 $MEMORY$ if icmp slt i64 %most_at_once, 0
sized:
  %resident = phi i64 [ %blocks, %prepare ], [ %most_at_once, %stacked ]
  %each = call i64 @llvm.smax.i64(i64 %f, i64 1)
  %parts = sdiv i64 (sub i64 (add i64 %blocks, %each), 1), %each
  %fewer = call i64 @llvm.smin.i64(i64 %resident, i64 %parts)
  %at_once = select i1 (icmp eq i64 (extractvalue %Variant %v, $Variant.turns$), 0), i64 %resident, i64 %fewer
  %record = load i64, ptr %gpu->Gpu.record
  %failing = load i64, ptr %gpu->Gpu.failing
  %cannot = icmp eq i64 %failing, 0
  %may_fail = add i64 %failing, (select i1 %cannot, i64 (extractvalue %Variant %v, $Variant.fails$), i64 1)
  store i64 %may_fail, ptr %gpu->Gpu.failing
  store i64 1, ptr %gpu->Gpu.pending
  store i64 %record, ptr %params
  store i64 (select i1 %cannot, i64 0, i64 %record), ptr %params[1]
  store i64 %blocks, ptr %params[2]
  %grid = sdiv i64 (sub i64 (add i64 %at_once, %together), 1), %together
  %all_threads = mul i64 %own_threads, %together
  %shared = mul i64 (load i64, ptr %params[6]), %together
  %code = extractvalue %Variant %v, $Variant.code$
  call void @start(ptr %gpu, ptr %code, i64 %grid, i64 %all_threads, i64 %shared, ptr %params, i64 %bytes)
  ret i64 (call i64 @status_of(ptr %gpu))
}

@no_stack = internal constant [4 x i64] zeroinitializer

; The threads of a block: those asked for, in whole warps, as a GPU takes them.
define internal i64 @threads_of(ptr %kernel, i64 %asked) {
  %usual = load i64, ptr %kernel->Kernel.threads
  %fitting = call i64 @llvm.smin.i64(i64 (call i64 @llvm.smax.i64(i64 (and i64 %asked, -32), i64 32)), i64 1024)
  ret i64 (select i1 (icmp eq i64 %asked, 0), i64 %usual, i64 %fitting)
}

; `Memory` of a kernel whose blocks take turns, into four words: where, bytes of the stacks of a block and of a thread, shared
; memory. Gives how many may take turns at once, -1 if there is no room.
define internal i64 @stack(ptr %gpu, ptr %kernel, %Variant %v, i64 %blocks, i64 %block_peak, i64 %thread_peak, ptr %memory) {
  %k = load %Kernel, ptr %kernel
  %together = extractvalue %Variant %v, $Variant.together$
  %threads = extractvalue %Variant %v, $Variant.threads$
  %unknown = icmp slt i64 %block_peak, 0
  %left_each = sdiv i64 (extractvalue %Variant %v, $Variant.shared_left$), %together
  %fits = and i1 (icmp sle i64 %block_peak, %left_each), (xor i1 %unknown, true)
  %room = call i64 @llvm.smin.i64(i64 (extractvalue %Kernel %k, $Kernel.most$), i64 %left_each)
  %block_size = select i1 %unknown, i64 (extractvalue %Kernel %k, $Kernel.block_stack$), i64 %block_peak
  %block = select i1 %fits, i64 0, i64 %block_size
  %thread_stack = extractvalue %Kernel %k, $Kernel.thread_stack$
  %thread = select i1 (icmp slt i64 %thread_peak, 0), i64 %thread_stack, i64 %thread_peak
  %each = add i64 %block, (mul i64 %threads, %thread)
  store i64 (select i1 %fits, i64 %block_peak, i64 (and i64 %room, -16)), ptr %memory[3]
  goto %some if icmp ne i64 %each, 0
  ret i64 (call i64 @llvm.smin.i64(i64 %blocks, i64 $MOST_GRID$))
some:
  %per = call i64 @llvm.smax.i64(i64 (sdiv i64 $THREADS$, %threads), i64 1)
  %full = mul i64 (mul i64 (load i64, ptr %gpu->Gpu.multiprocessors), $TURNS$), %per
  %one = call i64 @llvm.smin.i64(i64 %blocks, i64 %full)
  %two = call i64 @llvm.smin.i64(i64 %one, i64 (sdiv i64 $STACK_BUDGET$, %each))
  %at_once = call i64 @llvm.smax.i64(i64 %two, i64 1)
  %groups = sdiv i64 (sub i64 (add i64 %at_once, %together), 1), %together
  %bytes = mul i64 (mul i64 %groups, %together), %each
  %room_place = getelementptr %Gpu, ptr %gpu, i32 0, i32 $Gpu.stack_room$
  goto %take if icmp sle i64 %bytes, (load i64, ptr %room_place)
  call void @flush(ptr %gpu)
  call void *%gpu->Gpu.stacks(ptr %gpu, i64 %bytes)
  ret i64 -1 if icmp sgt i64 %bytes, (load i64, ptr %room_place)
take:
  store i64 (load i64, ptr %gpu->Gpu.stack), ptr %memory
  store i64 %block, ptr %memory[1]
  store i64 %thread, ptr %memory[2]
  ret i64 %at_once
}
; Does somebody want to stop? A state without a flag goes on.
define i64 @soac_host_pause(ptr %state) {
  %flag = load ptr, ptr %state[$STOP_WORD$]
  ret i64 $FINE$ if icmp eq ptr %flag, null
  %stop = load atomic i64, ptr %flag monotonic, align 8
  ret i64 $FINE$ if icmp eq i64 %stop, 0
  ret i64 $STOPPED$
}
