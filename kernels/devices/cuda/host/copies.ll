; Copies between strided arrays of a GPU, values to all places of one, iota. Dimensions that lie one behind the other on both
; sides become one axis; what is left is a copy of memory, a transposition by tiles, or a kernel for any strides
; (schedule/cuda/bulk_copies.py). A value is a copy from strides of 0, with its bits in place of the address.

; target[..] = source[..] of the target's sizes; they do not overlap.
define void @soac_host_copy(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %width) {
  %gpu = call ptr @gpu_of(ptr %state)
  %from = load i64, ptr %source->Array.data
  %sizes = getelementptr %Array, ptr %source, i32 0, i32 $Array.sizes$
  call void @spread(ptr %gpu, ptr %target, i64 %from, ptr %sizes[%rank], i64 1, i64 %rank, i64 %width, i1 false)
}

; target[..] = the value with these bits.
define void @soac_host_fill(ptr %state, ptr %target, i64 %rank, i64 %width, i64 %bits) {
  %gpu = call ptr @gpu_of(ptr %state)
  call void @spread(ptr %gpu, ptr %target, i64 %bits, ptr @no_stack, i64 0, i64 %rank, i64 %width, i1 true)
}

; The element at %address = the value with these bits.
define void @soac_host_write(ptr %state, i64 %address, i64 %width, i64 %bits) {
  call void @ramp(ptr (call ptr @gpu_of(ptr %state)), i64 %address, i64 1, i64 %bits, i64 0, i64 %width)
}

; array[i] = start + i * step, for a dense array.
define void @soac_host_iota(ptr %state, ptr %array, i64 %count, i64 %start, i64 %step, i64 %width) {
  %gpu = call ptr @gpu_of(ptr %state)
  call void @ramp(ptr %gpu, i64 (load i64, ptr %array->Array.data), i64 %count, i64 %start, i64 %step, i64 %width)
}

; Constants of the host program, which stay where they are.
define void @soac_host_upload(ptr %state, i64 %address, ptr %from, i64 %bytes) {
  %gpu = call ptr @gpu_of(ptr %state)
  ret void if icmp eq i64 %bytes, 0
  call void @flush(ptr %gpu)
  %to = inttoptr i64 %address to ptr
  %code = call i32 *%gpu->Gpu.upload(ptr %to, ptr %from, i64 %bytes, ptr (load ptr, ptr %gpu->Gpu.stream))
  call void @noted(ptr %gpu, i32 %code)
}

; The axes of a copy to %target, whose source has strides that are %step words apart; then the copy.
define internal void @spread(ptr %gpu, ptr %target, i64 %from, ptr %from_strides, i64 %step, i64 %rank, i64 %width, i1 %is_fill) {
  %axes = alloca %Axis, i64 (add i64 %rank, 1), align 8
  %to = load i64, ptr %target->Array.data
  %sizes = getelementptr %Array, ptr %target, i32 0, i32 $Array.sizes$
  %strides = getelementptr i64, ptr %sizes, i64 %rank
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %skip ], [ %k1, %merge ], [ %k1, %append ]
  %n = phi i64 [ 0, %entry ], [ %n, %skip ], [ %n, %merge ], [ %n1, %append ]
  goto %go if icmp sge i64 %k, %rank
  %k1 = add i64 %k, 1
  %size = load i64, ptr %sizes[%k]
  %to_stride = load i64, ptr %strides[%k]
  %at = mul i64 %k, %step
  %from_stride = load i64, ptr %from_strides[%at]
  %a2 = insertvalue %Axis (insertvalue %Axis zeroinitializer, i64 %size, $Axis.size$), i64 %to_stride, $Axis.to$
  %axis = insertvalue %Axis %a2, i64 %from_stride, $Axis.from$
  switch i64 %size, label %several [ i64 0, label %done i64 1, label %skip ]
skip:
  br label %each
several:
  goto %append if icmp eq i64 %n, 0
  %outer_place = getelementptr %Axis, ptr %axes[%Axis %n], i64 -1
  %outer = load %Axis, ptr %outer_place
  goto %append if icmp ne i64 (extractvalue %Axis %outer, $Axis.to$), (mul i64 %to_stride, %size)
  goto %append if icmp ne i64 (extractvalue %Axis %outer, $Axis.from$), (mul i64 %from_stride, %size)
merge:
  %merged = insertvalue %Axis %axis, i64 (mul i64 (extractvalue %Axis %outer, $Axis.size$), %size), $Axis.size$
  store %Axis %merged, ptr %outer_place
  br label %each
append:
  store %Axis %axis, ptr %axes[%Axis %n]
  %n1 = add i64 %n, 1
  br label %each
go:
  call void @move(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill)
done:
}

; A copy over %n axes, the outermost first.
define internal void @move(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill) {
  %last_number = sub i64 %n, 1
  switch i64 %n, label %look [ i64 0, label %single i64 1, label %line ]
single:
  call void @contiguous(ptr %gpu, i64 %to, i64 %from, i64 1, i64 %width, i1 %is_fill)
  ret void
line:
  %line_of = load %Axis, ptr %axes[%Axis %last_number]
  %line_size = extractvalue %Axis %line_of, $Axis.size$
  goto %strided if icmp ne i64 (extractvalue %Axis %line_of, $Axis.to$), %width
  goto %strided unless or i1 (icmp eq i64 (extractvalue %Axis %line_of, $Axis.from$), %width), %is_fill
  call void @contiguous(ptr %gpu, i64 %to, i64 %from, i64 %line_size, i64 %width, i1 %is_fill)
  ret void
look:
  goto %strided if icmp sgt i64 %n, 3 || %is_fill
  ret void if call i1 @transposed(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width)
strided:
  goto %outer if icmp sgt i64 %n, $MOST_DIMS$
  call void @by_kernel(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill)
  ret void
outer:
  %size = load i64, ptr %axes->Axis.size
  %to_stride = load i64, ptr %axes->Axis.to
  %from_stride = load i64, ptr %axes->Axis.from
  for %k < %size {
    %row_to = add i64 %to, (mul i64 %k, %to_stride)
    %row_from = add i64 %from, (mul i64 %k, %from_stride)
    call void @move(ptr %gpu, i64 %row_to, i64 %row_from, ptr %axes[%Axis 1], i64 %last_number, i64 %width, i1 %is_fill)
  }
}

define internal void @contiguous(ptr %gpu, i64 %to, i64 %from, i64 %count, i64 %width, i1 %is_fill) {
  goto %copy unless %is_fill
  call void @ramp(ptr %gpu, i64 %to, i64 %count, i64 %from, i64 0, i64 %width)
  ret void
copy:
  %source = inttoptr i64 %from to ptr
  call void @copy_later(ptr %gpu, ptr (inttoptr i64 %to to ptr), ptr %source, i64 (mul i64 %count, %width))
}

; Dense elements := start + i * step.
define internal void @ramp(ptr %gpu, i64 %to, i64 %count, i64 %start, i64 %step, i64 %width) {
  ret void if icmp eq i64 %count, 0
  %stream = load ptr, ptr %gpu->Gpu.stream
  %target = inttoptr i64 %to to ptr
  %bytes = mul i64 %count, %width
  %keeping = call i1 @keeping(ptr %gpu)  ; a kernel can be part of a graph
  %unused = sub i64 64, (mul i64 %width, 8)
  %value = lshr i64 (shl i64 %start, %unused), %unused
  goto %kernel unless icmp ugt i1 (icmp eq i64 %step, 0), %keeping
bytes_or_more:  ; the driver sets memory to one byte, or to words of 2 or 4
  %byte = and i64 %value, 255
  goto %words if icmp ne i64 (mul i64 %byte, (lshr i64 72340172838076673, %unused)), %value
  %cleared = call i32 *%gpu->Gpu.clear(ptr %target, i8 (trunc i64 %byte to i8), i64 %bytes, ptr %stream)
  call void @noted(ptr %gpu, i32 %cleared)
  ret void
words:
  goto %fours if icmp ne i64 %width, 2
  %set16 = call i32 *%gpu->Gpu.set_16(ptr %target, i16 (trunc i64 %value to i16), i64 %count, ptr %stream)
  call void @noted(ptr %gpu, i32 %set16)
  ret void
fours:
  %low = and i64 %value, 4294967295
  goto %kernel unless or i1 (icmp eq i64 %width, 4), (icmp eq i64 %low, (lshr i64 %value, 32))
  %set32 = call i32 *%gpu->Gpu.set_32(ptr %target, i32 (trunc i64 %low to i32), i64 (lshr i64 %bytes, 2), ptr %stream)
  call void @noted(ptr %gpu, i32 %set32)
  ret void
kernel:
  %params = alloca [11 x i64], align 16
  store i64 %to, ptr %params[7]
  store i64 %count, ptr %params[8]
  store i64 %start, ptr %params[9]
  store i64 %step, ptr %params[10]
  %blocks = sdiv i64 (add i64 %count, $ALMOST_CHUNK$), $THREADS$
  call void @bulk(ptr %gpu, i64 $IOTA$, i64 %width, i64 %blocks, ptr %params, i64 88)
}

; Start a bulk kernel, which cannot fail, for elements of %width bytes.
define internal void @bulk(ptr %gpu, i64 %kind, i64 %width, i64 %blocks, ptr %params, i64 %bytes) {
  call void @llvm.memcpy.p0.p0.i64(ptr %params, ptr @no_words, i64 56, i1 false)
  store i64 %blocks, ptr %params[2]
  %number = add i64 %kind, (call i64 @llvm.cttz.i64(i64 %width, i1 true))
  %place = getelementptr ptr, ptr (load ptr, ptr %gpu->Gpu.bulk), i64 %number
  %known = load ptr, ptr %place
  goto %go if icmp ne ptr %known, null
ask:
  call void *%gpu->Gpu.need(ptr %gpu)
  %made = load ptr, ptr %place
  goto %go if icmp ne ptr %made, null
  call void @noted(ptr %gpu, i32 $NO_KERNEL$)
  ret void
go:
  %code = phi ptr [ %known, %entry ], [ %made, %ask ]
  %grid = call i64 @llvm.smin.i64(i64 %blocks, i64 (mul i64 (load i64, ptr %gpu->Gpu.multiprocessors), $WAVES$))
  call void @start(ptr %gpu, ptr %code, i64 %grid, i64 $THREADS$, i64 0, ptr %params, i64 %bytes)
}

@no_words = internal constant [7 x i64] zeroinitializer

; A copy as one of transposed matrices, if it is: gives whether.
define internal i1 @transposed(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width) {
  %last = sub i64 %n, 1
  %column = load %Axis, ptr %axes[%Axis %last]
  ret i1 false if icmp ne i64 (extractvalue %Axis %column, $Axis.to$), %width
  %first = load %Axis, ptr %axes
  %second = load %Axis, ptr %axes[%Axis 1]
  %first_is = icmp eq i64 (extractvalue %Axis %first, $Axis.from$), %width
  %three = icmp eq i64 %n, 3
  %second_is = and i1 (icmp eq i64 (extractvalue %Axis %second, $Axis.from$), %width), %three
  %row = select i1 %first_is, %Axis %first, %Axis %second
  %matrix = select i1 %three, %Axis (select i1 %first_is, %Axis %second, %Axis %first), %Axis { i64 1, i64 0, i64 0 }
  %row_size = extractvalue %Axis %row, $Axis.size$
  %column_size = extractvalue %Axis %column, $Axis.size$
  %shorter = call i64 @llvm.smin.i64(i64 %row_size, i64 %column_size)
  ret i1 false unless or i1 %first_is, %second_is
  ret i1 false if icmp slt i64 %shorter, $TILES_PAY$
  %params = alloca [16 x i64], align 16
  %matrices = extractvalue %Axis %matrix, $Axis.size$
  store i64 %to, ptr %params[7]
  store i64 %from, ptr %params[8]
  store i64 %matrices, ptr %params[9]
  store i64 %row_size, ptr %params[10]
  store i64 %column_size, ptr %params[11]
  store i64 (sdiv i64 (extractvalue %Axis %matrix, $Axis.to$), %width), ptr %params[12]
  store i64 (sdiv i64 (extractvalue %Axis %row, $Axis.to$), %width), ptr %params[13]
  store i64 (sdiv i64 (extractvalue %Axis %matrix, $Axis.from$), %width), ptr %params[14]
  store i64 (sdiv i64 (extractvalue %Axis %column, $Axis.from$), %width), ptr %params[15]
  %column_tiles = sdiv i64 (add i64 %column_size, $ALMOST_TILE$), $TILE$
  %tiles = mul i64 (sdiv i64 (add i64 %row_size, $ALMOST_TILE$), $TILE$), %column_tiles
  call void @bulk(ptr %gpu, i64 $TRANSPOSE$, i64 %width, i64 (mul i64 %tiles, %matrices), ptr %params, i64 128)
  ret i1 true
}

; A copy by a thread for each element: sizes and strides of $MOST_DIMS$ axes, the innermost first.
define internal void @by_kernel(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill) {
  %params = alloca [40 x i64], align 16
  store i64 %to, ptr %params[7]
  store i64 %from, ptr %params[8]
  %count_place = getelementptr i64, ptr %params, i64 (select i1 %is_fill, i64 8, i64 9)
  store i64 %n, ptr %count_place[1]
  %sizes = getelementptr i64, ptr %count_place, i64 2
  %to_steps = getelementptr i64, ptr %sizes, i64 $MOST_DIMS$
  %from_steps = getelementptr i64, ptr %to_steps, i64 $MOST_DIMS$
  for %k < $MOST_DIMS$, i64 %count = 1 then %product {
    %number = sub i64 %n, (add i64 %k, 1)
    %axis = load %Axis, ptr (select i1 (icmp slt i64 %k, %n), ptr %axes[%Axis %number], ptr @no_axis)
    %size = extractvalue %Axis %axis, $Axis.size$
    %product = mul i64 %count, %size
    store i64 %size, ptr %sizes[%k]
    store i64 (sdiv i64 (extractvalue %Axis %axis, $Axis.to$), %width), ptr %to_steps[%k]
    store i64 (sdiv i64 (extractvalue %Axis %axis, $Axis.from$), %width), ptr %from_steps[%k]
  }
  store i64 %count, ptr %count_place
  %blocks = sdiv i64 (add i64 %count, $ALMOST_CHUNK$), $THREADS$
  goto %copy unless %is_fill
  store i64 %from, ptr %from_steps
  call void @bulk(ptr %gpu, i64 $FILL$, i64 %width, i64 %blocks, ptr %params, i64 (add i64 %width, 208))
  ret void
copy:
  call void @bulk(ptr %gpu, i64 $COPY$, i64 %width, i64 %blocks, ptr %params, i64 280)
}

@no_axis = internal constant %Axis { i64 1, i64 0, i64 0 }
