; Launches, and what the host waits for. A failing check writes its number and its values into $RECORD_WORDS$ words of the
; GPU, which later kernels look at; behind them there is room for a scalar, so that one copy brings both.

; ---- what the host waits for

; Copy %bytes bytes to the pinned memory at %to, and wait for all work.
define internal void @fetched(ptr %gpu, ptr %to, ptr %from, i64 %bytes) {
  call void @flush(ptr %gpu)
  %stream = load ptr, ptr %gpu->Gpu.stream
  call void @counted(ptr %gpu->Gpu.downloads)
  %copied = call i32 *%gpu->Gpu.download(ptr %to, ptr %from, i64 %bytes, ptr %stream)
  call void @noted(ptr %gpu, i32 %copied)
  %waited = call i32 *%gpu->Gpu.wait(ptr %stream)
  call void @noted(ptr %gpu, i32 %waited)
  ret void
}

define internal i64 @status_of(ptr %gpu) {
  %error = load i64, ptr %gpu->Gpu.error
  %fine = icmp eq i64 %error, 0
  %status = select i1 %fine, i64 $FINE$, i64 $DRIVER$
  ret i64 %status
}

; What has failed so far, after %extra more bytes behind the record were fetched with it.
define internal i64 @looked(ptr %state, ptr %gpu, i64 %extra) {
  %record_word = load i64, ptr %gpu->Gpu.record
  %record = inttoptr i64 %record_word to ptr
  %pinned = load ptr, ptr %gpu->Gpu.pinned
  %bytes = add i64 %extra, $RECORD_BYTES$
  call void @fetched(ptr %gpu, ptr %pinned, ptr %record, i64 %bytes)
  store i64 0, ptr %gpu->Gpu.pending
  %status = call i64 @status_of(ptr %gpu)
  goto %done if icmp ne i64 %status, $FINE$
  %failure = load i64, ptr %pinned
  goto %copy if icmp ne i64 %failure, 0
none:
  store i64 0, ptr %gpu->Gpu.failing
  br label %done
copy:
  %own = load ptr, ptr %state[$RECORD_WORD$]
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %pinned, i64 $RECORD_BYTES$, i1 false)
done:
  %result = phi i64 [ %status, %entry ], [ $FINE$, %none ], [ $KERNEL$, %copy ]
  ret i64 %result
}

; Failures so far: what the host is about to do is right after it.
define i64 @soac_host_settle(ptr %state) {
  %gpu = call ptr @gpu_of(ptr %state)
  %pending = load i64, ptr %gpu->Gpu.pending
  goto %done if icmp eq i64 %pending, 0
  %looked = call i64 @looked(ptr %state, ptr %gpu, i64 0)
  ret i64 %looked
done:
  %status = call i64 @status_of(ptr %gpu)
  ret i64 %status
}

; Wait for all work of a call.
define i64 @soac_host_finish(ptr %state) {
  %gpu = call ptr @gpu_of(ptr %state)
  %pending = load i64, ptr %gpu->Gpu.pending
  goto %wait if icmp eq i64 %pending, 0
  %looked = call i64 @looked(ptr %state, ptr %gpu, i64 0)
  ret i64 %looked
wait:
  call void @flush(ptr %gpu)
  %stream = load ptr, ptr %gpu->Gpu.stream
  %waited = call i32 *%gpu->Gpu.wait(ptr %stream)
  call void @noted(ptr %gpu, i32 %waited)
  %status = call i64 @status_of(ptr %gpu)
  ret i64 %status
}

; The element of %width bytes at %address into the host's memory at %to, with the record where something may have failed.
define i64 @soac_host_read(ptr %state, i64 %address, i64 %width, ptr %to) {
  %gpu = call ptr @gpu_of(ptr %state)
  %of = load %Gpu, ptr %gpu
  %from = inttoptr i64 %address to ptr
  %pinned = extractvalue %Gpu %of, $Gpu.pinned$
  %slot = getelementptr i8, ptr %pinned, i64 $RECORD_BYTES$
  %pending = extractvalue %Gpu %of, $Gpu.pending$
  goto %both if icmp ne i64 %pending, 0
alone:
  call void @fetched(ptr %gpu, ptr %slot, ptr %from, i64 %width)
  %fetched = call i64 @status_of(ptr %gpu)
  br label %done
both:
  call void @flush(ptr %gpu)
  %copy = extractvalue %Gpu %of, $Gpu.copy$
  %stream = extractvalue %Gpu %of, $Gpu.stream$
  %record = extractvalue %Gpu %of, $Gpu.record$
  %behind_word = add i64 %record, $RECORD_BYTES$
  %behind = inttoptr i64 %behind_word to ptr
  %copied = call i32 %copy(ptr %behind, ptr %from, i64 %width, ptr %stream)
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
  goto %done if call i1 @kept(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %params, i64 %bytes)
  call void @start_now(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %params, i64 %bytes)
done:
  ret void
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
  ret void
}

; Launch kernel number %number for %blocks blocks. Its parameters begin with seven words, which are filled in here. What
; launches were set to is 0 where it is not set: each block of the grid does the work of %factor, and has %asked threads. Where
; indices do not fit 32 bits, %wide says so. Where the variant has all arrays of a block in shared memory, and they do not fit, it is
; the one with arrays that may be in global memory. The peaks are the bytes of its stacks, -1 where only the kernel finds out.
define i64 @soac_host_launch(ptr %state, ptr %params, i64 %bytes, i64 %number, i64 %blocks, i64 %factor, i64 %asked, i64 %block_peak, i64 %thread_peak, i1 %wide) {
  goto %fine if icmp sle i64 %blocks, 0
  %gpu = call ptr @gpu_of(ptr %state)
  %unseen = load i64, ptr %gpu->Gpu.failing
  goto %choose if icmp slt i64 %unseen, $MOST_UNSEEN$
  %looked = call i64 @looked(ptr %state, ptr %gpu, i64 0)
  goto %choose if icmp eq i64 %looked, $FINE$
  ret i64 %looked
choose:
  %kernels = load ptr, ptr %state[$KERNELS_WORD$]
  %kernel = load ptr, ptr %kernels[%number]
  %top = add i64 %blocks, $ALMOST_GRID$
  %least = sdiv i64 %top, $MOST_GRID$
  %f = call i64 @llvm.smax.i64(i64 %factor, i64 %least)
  %threads = call i64 @threads_of(ptr %kernel, i64 %asked)
  %takes_turns = icmp sgt i64 %f, 1
  %row = select i1 %takes_turns, i64 31, i64 -1
  %warps = lshr i64 %threads, 5
  %narrow_place = add i64 %row, %warps
  %further = select i1 %wide, i64 64, i64 0
  %first_place = add i64 %narrow_place, %further
look:
  %which = phi i64 [ %first_place, %choose ], [ %far_place, %beyond ]
  %place = getelementptr %Kernel, ptr %kernel, i32 0, i32 $Kernel.variants$, i64 %which
  %known = load ptr, ptr %place
  goto %go if icmp ne ptr %known, null
ask:
  call void *%state[$NEED_WORD$](i64 %number, i64 %which)
  %made = load ptr, ptr %place
  goto %no_code if icmp eq ptr %made, null
go:
  %variant = phi ptr [ %known, %look ], [ %made, %ask ]
  %v = load %Variant, ptr %variant
  %is_near = extractvalue %Variant %v, $Variant.near$
  %in_block = extractvalue %Variant %v, $Variant.together$
  %may_have = extractvalue %Variant %v, $Variant.shared_left$
  %near_room = sdiv i64 %may_have, %in_block
  goto %prepare if icmp eq i64 %is_near, 0
  goto %prepare if icmp ule i64 %block_peak, %near_room
beyond:
  %far_place = add i64 %which, 128
  br label %look
prepare:
  %has_stacks = extractvalue %Variant %v, $Variant.stacks$
  %together = extractvalue %Variant %v, $Variant.together$
  %own_threads = extractvalue %Variant %v, $Variant.threads$
  %memory = getelementptr i64, ptr %params, i64 3
  call void @llvm.memcpy.p0.p0.i64(ptr %memory, ptr @no_stack, i64 32, i1 false)
  goto %sized if icmp eq i64 %has_stacks, 0
stacked:
  %most_at_once = call i64 @stack(ptr %gpu, ptr %kernel, %Variant %v, i64 %blocks, i64 %block_peak, i64 %thread_peak, ptr %memory)
  goto %full if icmp slt i64 %most_at_once, 0
sized:
  %resident = phi i64 [ %blocks, %prepare ], [ %most_at_once, %stacked ]
  %turns = extractvalue %Variant %v, $Variant.turns$
  %whole = icmp eq i64 %turns, 0
  %each = call i64 @llvm.smax.i64(i64 %f, i64 1)
  %up = add i64 %blocks, %each
  %last = sub i64 %up, 1
  %parts = sdiv i64 %last, %each
  %fewer = call i64 @llvm.smin.i64(i64 %resident, i64 %parts)
  %at_once = select i1 %whole, i64 %resident, i64 %fewer
  %record = load i64, ptr %gpu->Gpu.record
  %failing = load i64, ptr %gpu->Gpu.failing
  %cannot = icmp eq i64 %failing, 0
  %before = select i1 %cannot, i64 0, i64 %record
  %fails = extractvalue %Variant %v, $Variant.fails$
  %one_more = select i1 %cannot, i64 %fails, i64 1
  %may_fail = add i64 %failing, %one_more
  store i64 %may_fail, ptr %gpu->Gpu.failing
  store i64 1, ptr %gpu->Gpu.pending
  store i64 %record, ptr %params
  store i64 %before, ptr %params[1]
  store i64 %blocks, ptr %params[2]
  %over = add i64 %at_once, %together
  %less = sub i64 %over, 1
  %grid = sdiv i64 %less, %together
  %all_threads = mul i64 %own_threads, %together
  %own_shared = load i64, ptr %params[6]
  %shared = mul i64 %own_shared, %together
  %code = extractvalue %Variant %v, $Variant.code$
  call void @start(ptr %gpu, ptr %code, i64 %grid, i64 %all_threads, i64 %shared, ptr %params, i64 %bytes)
  %status = call i64 @status_of(ptr %gpu)
  ret i64 %status
full:
  ret i64 $MEMORY$
no_code:
  ret i64 $NO_CODE$
fine:
  ret i64 $FINE$
}

@no_stack = internal constant [4 x i64] zeroinitializer

; The threads of a block: those asked for, in whole warps, as a GPU takes them.
define internal i64 @threads_of(ptr %kernel, i64 %asked) {
  %usual = load i64, ptr %kernel->Kernel.threads
  %warps = and i64 %asked, -32
  %some = call i64 @llvm.smax.i64(i64 %warps, i64 32)
  %fitting = call i64 @llvm.smin.i64(i64 %some, i64 1024)
  %unset = icmp eq i64 %asked, 0
  %threads = select i1 %unset, i64 %usual, i64 %fitting
  ret i64 %threads
}

; `Memory` of a kernel whose blocks take turns, into four words: where, bytes of the stacks of a block and of a thread, shared
; memory. Gives how many may take turns at once, -1 if there is no room.
define internal i64 @stack(ptr %gpu, ptr %kernel, %Variant %v, i64 %blocks, i64 %block_peak, i64 %thread_peak, ptr %memory) {
  %k = load %Kernel, ptr %kernel
  %together = extractvalue %Variant %v, $Variant.together$
  %threads = extractvalue %Variant %v, $Variant.threads$
  %shared_left = extractvalue %Variant %v, $Variant.shared_left$
  %unknown = icmp slt i64 %block_peak, 0
  %usual = extractvalue %Kernel %k, $Kernel.most$
  %left_each = sdiv i64 %shared_left, %together
  %inside = icmp sle i64 %block_peak, %left_each
  %known = xor i1 %unknown, true
  %fits = and i1 %inside, %known
  %room = call i64 @llvm.smin.i64(i64 %usual, i64 %left_each)
  %some_of_it = and i64 %room, -16
  %shared = select i1 %fits, i64 %block_peak, i64 %some_of_it
  %block_stack = extractvalue %Kernel %k, $Kernel.block_stack$
  %block_size = select i1 %unknown, i64 %block_stack, i64 %block_peak
  %block = select i1 %fits, i64 0, i64 %block_size
  %no_thread = icmp slt i64 %thread_peak, 0
  %thread_stack = extractvalue %Kernel %k, $Kernel.thread_stack$
  %thread = select i1 %no_thread, i64 %thread_stack, i64 %thread_peak
  %of_threads = mul i64 %threads, %thread
  %each = add i64 %block, %of_threads
  %m1 = getelementptr i64, ptr %memory, i64 1
  %m2 = getelementptr i64, ptr %memory, i64 2
  store i64 %shared, ptr %memory[3]
  goto %some if icmp ne i64 %each, 0
  %all = call i64 @llvm.smin.i64(i64 %blocks, i64 $MOST_GRID$)
  ret i64 %all
some:
  %in_turn = sdiv i64 $THREADS$, %threads
  %per = call i64 @llvm.smax.i64(i64 %in_turn, i64 1)
  %multi = load i64, ptr %gpu->Gpu.multiprocessors
  %of_gpu = mul i64 %multi, $TURNS$
  %full = mul i64 %of_gpu, %per
  %budget = sdiv i64 $STACK_BUDGET$, %each
  %one = call i64 @llvm.smin.i64(i64 %blocks, i64 %full)
  %two = call i64 @llvm.smin.i64(i64 %one, i64 %budget)
  %at_once = call i64 @llvm.smax.i64(i64 %two, i64 1)
  %up = add i64 %at_once, %together
  %last = sub i64 %up, 1
  %groups = sdiv i64 %last, %together
  %whole = mul i64 %groups, %together
  %bytes = mul i64 %whole, %each
  %room_place = getelementptr %Gpu, ptr %gpu, i32 0, i32 $Gpu.stack_room$
  %has = load i64, ptr %room_place
  goto %take if icmp sle i64 %bytes, %has
  call void @flush(ptr %gpu)
  call void *%gpu->Gpu.stacks(ptr %gpu, i64 %bytes)
  %now = load i64, ptr %room_place
  goto %fail if icmp sgt i64 %bytes, %now
take:
  %stack = load i64, ptr %gpu->Gpu.stack
  store i64 %stack, ptr %memory
  store i64 %block, ptr %m1
  store i64 %thread, ptr %m2
  ret i64 %at_once
fail:
  ret i64 -1
}
; Does somebody want to stop? A state without a flag goes on.
define i64 @soac_host_pause(ptr %state) {
  %flag = load ptr, ptr %state[$STOP_WORD$]
  goto %fine if icmp eq ptr %flag, null
  %stop = load atomic i64, ptr %flag monotonic, align 8
  goto %fine if icmp eq i64 %stop, 0
  ret i64 $STOPPED$
fine:
  ret i64 $FINE$
}
