; Launches of loops of the host as graphs. Between `graph_begin` and `graph_end` launches of kernels and copies are kept in
; a queue, and go to the driver where a number of turns is over, where the host waits, and before anything else is asked of
; the driver. A queue of the same kernels and copies as an executable graph, one after the other, becomes the parameters of
; that graph, as far as they are others than they were, and one launch of it; the second queue of its kind becomes a graph.

; A loop is about to begin, %turns turns of which are one graph; 1: launches come one by one.
define void @soac_host_graph_begin(ptr %state, i64 %turns) {
  %gpu = call ptr @gpu_of(ptr %state)
  %queue = load ptr, ptr %gpu->Gpu.queue
  ret void if icmp eq ptr %queue, null
  store i64 %turns, ptr %queue->Queue.turns
  store i64 0, ptr %queue->Queue.turn
}

; A turn is over.
define void @soac_host_graph_turn(ptr %state) {
  %gpu = call ptr @gpu_of(ptr %state)
  %queue = load ptr, ptr %gpu->Gpu.queue
  ret void if icmp eq ptr %queue, null
  %turns = load i64, ptr %queue->Queue.turns
  %place = getelementptr %Queue, ptr %queue, i32 0, i32 $Queue.turn$
  %new = add i64 (load i64, ptr %place), 1
  store i64 %new, ptr %place
  ret void if icmp slt i64 %new, %turns
  store i64 0, ptr %place
  call void @flush(ptr %gpu)
}

; The loop is over.
define void @soac_host_graph_end(ptr %state) {
  %gpu = call ptr @gpu_of(ptr %state)
  %queue = load ptr, ptr %gpu->Gpu.queue
  ret void if icmp eq ptr %queue, null
  store i64 0, ptr %queue->Queue.turns
  call void @flush(ptr %gpu)
}

; Whether launches are kept now.
define internal i1 @keeping(ptr %gpu) {
  %queue = load ptr, ptr %gpu->Gpu.queue
  ret i1 0 if icmp eq ptr %queue, null
  ret i1 (icmp sgt i64 (load i64, ptr %queue->Queue.turns), 1)
}

; Keep a launch, a copy where %code is null, if launches are kept now: gives whether.
define internal i1 @kept(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %params, i64 %bytes) {
  %queue = load ptr, ptr %gpu->Gpu.queue
  goto %no unless call i1 @keeping(ptr %gpu)
  goto %room if icmp ule i64 %bytes, $STEP_ROOM$
  call void @flush(ptr %gpu)
  br label %no
room:
  goto %keep if icmp slt i64 (load i64, ptr %queue->Queue.count), $MOST_STEPS$
  call void @flush(ptr %gpu)
keep:
  %count = load i64, ptr %queue->Queue.count
  store i64 (add i64 %count, 1), ptr %queue->Queue.count
  %s2 = insertvalue %Step (insertvalue %Step zeroinitializer, ptr %code, $Step.code$), i64 %grid, $Step.grid$
  %s4 = insertvalue %Step (insertvalue %Step %s2, i64 %threads, $Step.threads$), i64 %shared, $Step.shared$
  %s5 = insertvalue %Step %s4, i64 %bytes, $Step.bytes$
  store %Step %s5, ptr (getelementptr %Step, ptr (load ptr, ptr %queue->Queue.steps), i64 %count)
  call void @llvm.memcpy.p0.p0.i64(ptr (call ptr @data_of(ptr %queue, i64 %count)), ptr %params, i64 %bytes, i1 false)
  ret i1 1
no:
  ret i1 0
}

; Where the parameters of a step of the queue are.
define internal ptr @data_of(ptr %queue, i64 %k) {
  ret ptr (getelementptr i8, ptr (load ptr, ptr %queue->Queue.data), i64 (mul i64 %k, $STEP_ROOM$))
}

; The executable graph of the same kernels and copies as the queue; null if there is none.
define internal ptr @matching(ptr %queue, i64 %count) {
  %steps = load ptr, ptr %queue->Queue.steps
  %graphs = load ptr, ptr %queue->Queue.graphs
  for %g < $MOST_GRAPHS$ {
    %own = load ptr, ptr %graphs[%g]->Graph.steps
    goto %next.g if icmp ne i64 (load i64, ptr %graphs[%g]->Graph.count), %count
    for %k < %count {
      goto %next.g if icmp ne ptr (load ptr, ptr %steps[%Step %k]), (load ptr, ptr %own[%Step %k])
    }
    br label %found
  }
  br label %none
found:
  ret ptr %graphs[%Graph %g]
none:
  ret ptr null
}

; A number for the kernels and copies of the queue.
define internal i64 @key_of(ptr %queue, i64 %count) {
  %steps = load ptr, ptr %queue->Queue.steps
  for %k < %count, i64 %key = %count then %mixed {
    %both = xor i64 %key, (load i64, ptr (getelementptr %Step, ptr %steps, i64 %k))
    %mixed = mul i64 %both, 1099511628211
  }
  ret i64 %key
}

; What is kept goes to the driver.
define internal void @flush(ptr %gpu) noinline {
  %queue = load ptr, ptr %gpu->Gpu.queue
  ret void if icmp eq ptr %queue, null
  %count = load i64, ptr %queue->Queue.count
  ret void if icmp eq i64 %count, 0
  store i64 0, ptr %queue->Queue.count
  goto %directly if icmp sle i64 %count, 1
  %known = call ptr @matching(ptr %queue, i64 %count)
  goto %update if icmp ne ptr %known, null
  %key = call i64 @key_of(ptr %queue, i64 %count)
  %place = getelementptr %Queue, ptr %queue, i32 0, i32 $Queue.missed$, i64 (lshr i64 %key, 61)
  %before = load i64, ptr %place
  store i64 %key, ptr %place
  goto %directly if icmp ne i64 %key, %before
build:
  %made = call ptr *%queue->Queue.make(i64 %count)
  br i1 (icmp eq ptr %made, null), label %directly, label %launch
update:
  goto %launch if call i1 @updated(ptr %queue, ptr %known, i64 %count)
  store i64 0, ptr %known->Graph.count
  br label %directly
launch:
  %graph = phi ptr [ %made, %build ], [ %known, %update ]
  %handle = load ptr, ptr %graph
  %stream = load ptr, ptr %gpu->Gpu.stream
  call void @counted(ptr %gpu->Gpu.launches)
  call void @noted(ptr %gpu, i32 (call i32 *%queue->Queue.launch(ptr %handle, ptr %stream)))
  ret void
directly:
  call void @one_by_one(ptr %gpu, ptr %queue, i64 %count)
}

; The parameters of the queue to an executable graph; gives whether the driver has taken them.
define internal i1 @updated(ptr %queue, ptr %graph, i64 %count) {
  %handle = load ptr, ptr %graph->Graph.handle
  %own = load ptr, ptr %graph->Graph.steps
  %own_data = load ptr, ptr %graph->Graph.data
  %nodes = load ptr, ptr %graph->Graph.nodes
  %steps = load ptr, ptr %queue->Queue.steps
  %context = load ptr, ptr %queue->Queue.context
  %params = alloca [9 x i64], align 8
  %size = alloca i64, align 8
  %extra = alloca [5 x ptr], align 8
  for %k < %count {
    %new = call ptr @data_of(ptr %queue, i64 %k)
    %old = getelementptr i8, ptr %own_data, i64 (mul i64 %k, $STEP_ROOM$)
    %s = load %Step, ptr %steps[%Step %k]
    %bytes = extractvalue %Step %s, $Step.bytes$
    %shape = call i32 @memcmp(ptr %steps[%Step %k], ptr %own[%Step %k], i64 $STEP_BYTES$)
    goto %next.k if icmp eq i32 (or i32 %shape, (call i32 @memcmp(ptr %new, ptr %old, i64 %bytes))), 0
    call void @llvm.memcpy.p0.p0.i64(ptr %own[%Step %k], ptr %steps[%Step %k], i64 $STEP_BYTES$, i1 false)
    call void @llvm.memcpy.p0.p0.i64(ptr %old, ptr %new, i64 %bytes, i1 false)
    call void @counted(ptr %queue->Queue.updates)
    %code = extractvalue %Step %s, $Step.code$
    %node = load ptr, ptr %nodes[%k]
    goto %kernel if icmp ne ptr %code, null
  copy:
    %copied = call i32 *%queue->Queue.set_copy(ptr %handle, ptr %node, ptr %old, ptr %context)
    br label %check
  kernel:
    store i64 %bytes, ptr %size
    store ptr inttoptr (i64 1 to ptr), ptr %extra
    store ptr %old, ptr %extra[1]
    store ptr inttoptr (i64 2 to ptr), ptr %extra[2]
    store ptr %size, ptr %extra[3]
    store ptr null, ptr %extra[4]
    %z_and_block = or i64 (shl i64 (extractvalue %Step %s, $Step.threads$), 32), 1
    store ptr %code, ptr %params
    store i64 (or i64 (extractvalue %Step %s, $Step.grid$), 4294967296), ptr %params[1]
    store i64 %z_and_block, ptr %params[2]
    store i64 4294967297, ptr %params[3]
    store i64 (extractvalue %Step %s, $Step.shared$), ptr %params[4]
    store i64 0, ptr %params[5]
    store ptr %extra, ptr %params[6]
    store i64 0, ptr %params[7]
    store i64 0, ptr %params[8]
    %set = call i32 *%queue->Queue.set_kernel(ptr %handle, ptr %node, ptr %params)
  check:
    %status = phi i32 [ %copied, %copy ], [ %set, %kernel ]
    ret i1 0 if icmp ne i32 %status, 0
  }
  br label %fine
fine:
  ret i1 1
}

; What is kept, a launch or copy after the other.
define internal void @one_by_one(ptr %gpu, ptr %queue, i64 %count) {
  %steps = load ptr, ptr %queue->Queue.steps
  for %k < %count {
    %s = load %Step, ptr (getelementptr %Step, ptr %steps, i64 %k)
    %data = call ptr @data_of(ptr %queue, i64 %k)
    %code = extractvalue %Step %s, $Step.code$
    goto %kernel if icmp ne ptr %code, null
    %bytes = load i64, ptr %data[22]
    call void @copy_now(ptr %gpu, ptr (load ptr, ptr %data[17]), ptr (load ptr, ptr %data[6]), i64 %bytes)
    br label %next.k
  kernel:
    %grid = extractvalue %Step %s, $Step.grid$
    %threads = extractvalue %Step %s, $Step.threads$
    %shared = extractvalue %Step %s, $Step.shared$
    %size = extractvalue %Step %s, $Step.bytes$
    call void @start_now(ptr %gpu, ptr %code, i64 %grid, i64 %threads, i64 %shared, ptr %data, i64 %size)
  }
}

; Copy memory of the GPU. The words are a `CUDA_MEMCPY3D` of one row.
define internal void @copy_later(ptr %gpu, ptr %to, ptr %from, i64 %bytes) {
  goto %done if icmp eq i64 %bytes, 0
  goto %alone if icmp uge i64 %bytes, $MOST_PITCH$
  %row = alloca [25 x i64], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr @one_row, i64 200, i1 false)
  store ptr %from, ptr %row[6]
  store i64 %bytes, ptr %row[9]
  store ptr %to, ptr %row[17]
  store i64 %bytes, ptr %row[20]
  store i64 %bytes, ptr %row[22]
  br i1 (call i1 @kept(ptr %gpu, ptr null, i64 0, i64 0, i64 0, ptr %row, i64 200)), label %done, label %now
alone:
  call void @flush(ptr %gpu)
now:
  call void @copy_now(ptr %gpu, ptr %to, ptr %from, i64 %bytes)
done:
}

define internal void @copy_now(ptr %gpu, ptr %to, ptr %from, i64 %bytes) {
  %code = call i32 *%gpu->Gpu.copy(ptr %to, ptr %from, i64 %bytes, ptr (load ptr, ptr %gpu->Gpu.stream))
  call void @noted(ptr %gpu, i32 %code)
}

@one_row = internal constant [25 x i64] [i64 0, i64 0, i64 0, i64 0, i64 2, i64 0, i64 0, i64 0, i64 0, i64 0, i64 1, i64 0, i64 0, i64 0, i64 0, i64 2, i64 0, i64 0, i64 0, i64 0, i64 0, i64 1, i64 0, i64 1, i64 1]
