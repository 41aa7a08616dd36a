; Memory of a GPU: counted buffers with free lists. The header of a buffer is in memory of the host. A buffer without
; references is taken again at once: who takes it writes behind the work that reads it, since all work is in one stream.
; Sizes are rounded up as those of the pool that it comes from (memory_pool.py): to an eighth of their power of two, and to
; pages; class 0 has $SMALLEST$ bytes.

define ptr @soac_host_data(ptr %buffer) {
  ret ptr (load ptr, ptr %buffer->Buffer.address)
}

; A buffer of %bytes bytes, counted once; null if there is no memory.
define ptr @soac_host_take(ptr %state, i64 %bytes) {
  %gpu = call ptr @gpu_of(ptr %state)
  %is_small = icmp ule i64 %bytes, $SMALLEST$
  %shift = call i64 @llvm.smax.i64(i64 (sub i64 60, (call i64 @llvm.ctlz.i64(i64 %bytes, i1 false))), i64 12)
  %top = sub i64 (add i64 %bytes, (shl i64 1, %shift)), 1
  %units = lshr i64 %top, %shift
  %number = add i64 (shl i64 (sub i64 %shift, 12), 3), %units
  %capacity = select i1 %is_small, i64 $SMALLEST$, i64 (shl i64 %units, %shift)
  %class = select i1 %is_small, i64 0, i64 %number
  %list = getelementptr ptr, ptr (load ptr, ptr %gpu->Gpu.lists), i64 %class
  %head = load ptr, ptr %list
  goto %new if icmp eq ptr %head, null
  store ptr (load ptr, ptr %head->Buffer.next), ptr %list
  store i64 1, ptr %head
  ret ptr %head
new:
  call void @flush(ptr %gpu)
  call void @counted(ptr %gpu->Gpu.allocations)
  %address = call ptr *%gpu->Gpu.allocate(ptr %gpu, i64 %capacity)
  ret ptr null if icmp eq ptr %address, null
  %buffer = call ptr @aligned_alloc(i64 64, i64 64)
  goto %back if icmp eq ptr %buffer, null
  %b1 = insertvalue %Buffer zeroinitializer, i64 1, $Buffer.references$
  %b3 = insertvalue %Buffer (insertvalue %Buffer %b1, i64 %class, $Buffer.class$), i64 %capacity, $Buffer.capacity$
  %b5 = insertvalue %Buffer (insertvalue %Buffer %b3, ptr %address, $Buffer.address$), ptr %gpu, $Buffer.gpu$
  store %Buffer %b5, ptr %buffer
  ret ptr %buffer
back:
  call void @free_address(ptr %gpu, ptr %address)
  ret ptr null
}

define internal void @free_address(ptr %gpu, ptr %address) {
  call void *%gpu->Gpu.free(ptr %gpu, ptr %address)
}

; One reference less; without any, the buffer goes back to its list.
define i64 @soac_host_drop(ptr %buffer) {
  %left = sub i64 (load i64, ptr %buffer), 1
  store i64 %left, ptr %buffer
  ret i64 0 if icmp ne i64 %left, 0
  %gpu = load ptr, ptr %buffer->Buffer.gpu
  %class = load i64, ptr %buffer->Buffer.class
  %lists = load ptr, ptr %gpu->Gpu.lists
  store ptr (load ptr, ptr %lists[%class]), ptr %buffer->Buffer.next
  store ptr %buffer, ptr %lists[%class]
  ret i64 0
}

; Forget a buffer whose memory is the caller's from now on.
define void @soac_host_let_go(ptr %buffer) {
  call void @free(ptr %buffer)
}

; Give the memory of all free buffers back.
define void @soac_host_trim(ptr %gpu) {
  call void @flush(ptr %gpu)
  %lists = load ptr, ptr %gpu->Gpu.lists
  for %k < $LISTS$ {
  list:
    %head = load ptr, ptr %lists[ptr %k]
    goto %next.k if icmp eq ptr %head, null
    %address = load ptr, ptr %head->Buffer.address
    store ptr (load ptr, ptr %head->Buffer.next), ptr %lists[ptr %k]
    call void @free_address(ptr %gpu, ptr %address)
    call void @free(ptr %head)
    br label %list
  }
}
