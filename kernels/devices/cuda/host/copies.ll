; Copies between strided arrays of a GPU, values to all places of one, iota. Dimensions that lie one behind the other on both
; sides become one axis; what is left is a copy of memory, a transposition by tiles, or a kernel for any strides
; (schedule/cuda/bulk_copies.py). A value is a copy from strides of 0, with its bits in place of the address.

; target[..] = source[..] of the target's sizes; they do not overlap.
define void @soac_host_copy(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %width) {
  %gpu = call ptr @gpu_of(ptr %state)
  %from = load i64, ptr %source->Array.data
  %sizes = getelementptr %Array, ptr %source, i32 0, i32 $Array.sizes$
  call void @spread(ptr %gpu, ptr %target, i64 %from, ptr %sizes[%rank], i64 1, i64 %rank, i64 %width, i1 false)
  ret void
}

; target[..] = the value with these bits.
define void @soac_host_fill(ptr %state, ptr %target, i64 %rank, i64 %width, i64 %bits) {
  %gpu = call ptr @gpu_of(ptr %state)
  call void @spread(ptr %gpu, ptr %target, i64 %bits, ptr @no_stack, i64 0, i64 %rank, i64 %width, i1 true)
  ret void
}

; The element at %address = the value with these bits.
define void @soac_host_write(ptr %state, i64 %address, i64 %width, i64 %bits) {
  %gpu = call ptr @gpu_of(ptr %state)
  call void @ramp(ptr %gpu, i64 %address, i64 1, i64 %bits, i64 0, i64 %width)
  ret void
}

; array[i] = start + i * step, for a dense array.
define void @soac_host_iota(ptr %state, ptr %array, i64 %count, i64 %start, i64 %step, i64 %width) {
  %gpu = call ptr @gpu_of(ptr %state)
  %address = load i64, ptr %array->Array.data
  call void @ramp(ptr %gpu, i64 %address, i64 %count, i64 %start, i64 %step, i64 %width)
  ret void
}

; Constants of the host program, which stay where they are.
define void @soac_host_upload(ptr %state, i64 %address, ptr %from, i64 %bytes) {
  %gpu = call ptr @gpu_of(ptr %state)
  goto %done if icmp eq i64 %bytes, 0
  call void @flush(ptr %gpu)
  %stream = load ptr, ptr %gpu->Gpu.stream
  %to = inttoptr i64 %address to ptr
  %code = call i32 *%gpu->Gpu.upload(ptr %to, ptr %from, i64 %bytes, ptr %stream)
  call void @noted(ptr %gpu, i32 %code)
done:
  ret void
}

; The axes of a copy to %target, whose source has strides that are %step words apart; then the copy.
define internal void @spread(ptr %gpu, ptr %target, i64 %from, ptr %from_strides, i64 %step, i64 %rank, i64 %width, i1 %is_fill) {
  %room = add i64 %rank, 1
  %axes = alloca %Axis, i64 %room, align 8
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
  %a1 = insertvalue %Axis zeroinitializer, i64 %size, $Axis.size$
  %a2 = insertvalue %Axis %a1, i64 %to_stride, $Axis.to$
  %axis = insertvalue %Axis %a2, i64 %from_stride, $Axis.from$
  switch i64 %size, label %several [ i64 0, label %done i64 1, label %skip ]
skip:
  br label %each
several:
  %new = getelementptr %Axis, ptr %axes, i64 %n
  goto %append if icmp eq i64 %n, 0
  %outer_place = getelementptr %Axis, ptr %new, i64 -1
  %outer = load %Axis, ptr %outer_place
  %outer_to = extractvalue %Axis %outer, $Axis.to$
  %outer_from = extractvalue %Axis %outer, $Axis.from$
  %next_to = mul i64 %to_stride, %size
  %next_from = mul i64 %from_stride, %size
  goto %append if icmp ne i64 %outer_to, %next_to
  goto %append if icmp ne i64 %outer_from, %next_from
merge:
  %outer_size = extractvalue %Axis %outer, $Axis.size$
  %product = mul i64 %outer_size, %size
  %merged = insertvalue %Axis %axis, i64 %product, $Axis.size$
  store %Axis %merged, ptr %outer_place
  br label %each
append:
  store %Axis %axis, ptr %new
  %n1 = add i64 %n, 1
  br label %each
go:
  call void @move(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill)
done:
  ret void
}

; A copy over %n axes, the outermost first.
define internal void @move(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill) {
  %last_number = sub i64 %n, 1
  %last_place = getelementptr %Axis, ptr %axes, i64 %last_number
  switch i64 %n, label %look [ i64 0, label %single i64 1, label %line ]
single:
  call void @contiguous(ptr %gpu, i64 %to, i64 %from, i64 1, i64 %width, i1 %is_fill)
  ret void
line:
  %line_of = load %Axis, ptr %last_place
  %line_size = extractvalue %Axis %line_of, $Axis.size$
  %line_to = extractvalue %Axis %line_of, $Axis.to$
  %line_from = extractvalue %Axis %line_of, $Axis.from$
  %dense_from = icmp eq i64 %line_from, %width
  %either = or i1 %dense_from, %is_fill
  goto %strided if icmp ne i64 %line_to, %width
  goto %strided unless %either
  call void @contiguous(ptr %gpu, i64 %to, i64 %from, i64 %line_size, i64 %width, i1 %is_fill)
  ret void
look:
  goto %strided if icmp sgt i64 %n, 3
  goto %strided if %is_fill
  goto %done if call i1 @transposed(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width)
strided:
  goto %outer if icmp sgt i64 %n, $MOST_DIMS$
  call void @by_kernel(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill)
  ret void
outer:
  %axis = load %Axis, ptr %axes
  %size = extractvalue %Axis %axis, $Axis.size$
  %to_stride = extractvalue %Axis %axis, $Axis.to$
  %from_stride = extractvalue %Axis %axis, $Axis.from$
  %inner = getelementptr %Axis, ptr %axes, i64 1
  for %k < %size {
    %to_offset = mul i64 %k, %to_stride
    %from_offset = mul i64 %k, %from_stride
    %row_to = add i64 %to, %to_offset
    %row_from = add i64 %from, %from_offset
    call void @move(ptr %gpu, i64 %row_to, i64 %row_from, ptr %inner, i64 %last_number, i64 %width, i1 %is_fill)
  }
done:
  ret void
}

define internal void @contiguous(ptr %gpu, i64 %to, i64 %from, i64 %count, i64 %width, i1 %is_fill) {
  goto %copy unless %is_fill
  call void @ramp(ptr %gpu, i64 %to, i64 %count, i64 %from, i64 0, i64 %width)
  ret void
copy:
  %bytes = mul i64 %count, %width
  %target = inttoptr i64 %to to ptr
  %source = inttoptr i64 %from to ptr
  call void @copy_later(ptr %gpu, ptr %target, ptr %source, i64 %bytes)
  ret void
}

; Dense elements := start + i * step.
define internal void @ramp(ptr %gpu, i64 %to, i64 %count, i64 %start, i64 %step, i64 %width) {
  goto %done if icmp eq i64 %count, 0
  %stream = load ptr, ptr %gpu->Gpu.stream
  %target = inttoptr i64 %to to ptr
  %bytes = mul i64 %count, %width
  %equal_ones = icmp eq i64 %step, 0
  %keeping = call i1 @keeping(ptr %gpu)  ; a kernel can be part of a graph
  %same = icmp ugt i1 %equal_ones, %keeping
  %bits = mul i64 %width, 8
  %unused = sub i64 64, %bits
  %high = shl i64 %start, %unused
  %value = lshr i64 %high, %unused
  goto %kernel unless %same
bytes_or_more:  ; the driver sets memory to one byte, or to words of 2 or 4
  %byte = and i64 %value, 255
  %every = lshr i64 72340172838076673, %unused
  %of_byte = mul i64 %byte, %every
  goto %words if icmp ne i64 %of_byte, %value
  %byte8 = trunc i64 %byte to i8
  %cleared = call i32 *%gpu->Gpu.clear(ptr %target, i8 %byte8, i64 %bytes, ptr %stream)
  call void @noted(ptr %gpu, i32 %cleared)
  ret void
words:
  goto %fours if icmp ne i64 %width, 2
  %value16 = trunc i64 %value to i16
  %set16 = call i32 *%gpu->Gpu.set_16(ptr %target, i16 %value16, i64 %count, ptr %stream)
  call void @noted(ptr %gpu, i32 %set16)
  ret void
fours:
  %low = and i64 %value, 4294967295
  %upper = lshr i64 %value, 32
  %is_four = icmp eq i64 %width, 4
  %equal = icmp eq i64 %low, %upper
  %fits = or i1 %is_four, %equal
  goto %kernel unless %fits
  %value32 = trunc i64 %low to i32
  %number = lshr i64 %bytes, 2
  %set32 = call i32 *%gpu->Gpu.set_32(ptr %target, i32 %value32, i64 %number, ptr %stream)
  call void @noted(ptr %gpu, i32 %set32)
  ret void
kernel:
  %params = alloca [11 x i64], align 16
  store i64 %to, ptr %params[7]
  store i64 %count, ptr %params[8]
  store i64 %start, ptr %params[9]
  store i64 %step, ptr %params[10]
  %up = add i64 %count, $ALMOST_CHUNK$
  %blocks = sdiv i64 %up, $THREADS$
  call void @bulk(ptr %gpu, i64 $IOTA$, i64 %width, i64 %blocks, ptr %params, i64 88)
done:
  ret void
}

; Start a bulk kernel, which cannot fail, for elements of %width bytes.
define internal void @bulk(ptr %gpu, i64 %kind, i64 %width, i64 %blocks, ptr %params, i64 %bytes) {
  call void @llvm.memcpy.p0.p0.i64(ptr %params, ptr @no_words, i64 56, i1 false)
  store i64 %blocks, ptr %params[2]
  %log = call i64 @llvm.cttz.i64(i64 %width, i1 true)
  %number = add i64 %kind, %log
  %kernels = load ptr, ptr %gpu->Gpu.bulk
  %place = getelementptr ptr, ptr %kernels, i64 %number
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
  %multi = load i64, ptr %gpu->Gpu.multiprocessors
  %most = mul i64 %multi, $WAVES$
  %grid = call i64 @llvm.smin.i64(i64 %blocks, i64 %most)
  call void @start(ptr %gpu, ptr %code, i64 %grid, i64 $THREADS$, i64 0, ptr %params, i64 %bytes)
  ret void
}

@no_words = internal constant [7 x i64] zeroinitializer

; A copy as one of transposed matrices, if it is: gives whether.
define internal i1 @transposed(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width) {
  %last = sub i64 %n, 1
  %column = load %Axis, ptr %axes[%Axis %last]
  %column_to = extractvalue %Axis %column, $Axis.to$
  goto %no if icmp ne i64 %column_to, %width
  %first = load %Axis, ptr %axes
  %second = load %Axis, ptr %axes[%Axis 1]
  %first_from = extractvalue %Axis %first, $Axis.from$
  %second_from = extractvalue %Axis %second, $Axis.from$
  %first_is = icmp eq i64 %first_from, %width
  %second_has = icmp eq i64 %second_from, %width
  %three = icmp eq i64 %n, 3
  %second_is = and i1 %second_has, %three
  %row = select i1 %first_is, %Axis %first, %Axis %second
  %other = select i1 %first_is, %Axis %second, %Axis %first
  %matrix = select i1 %three, %Axis %other, %Axis { i64 1, i64 0, i64 0 }
  %some = or i1 %first_is, %second_is
  %row_size = extractvalue %Axis %row, $Axis.size$
  %column_size = extractvalue %Axis %column, $Axis.size$
  %shorter = call i64 @llvm.smin.i64(i64 %row_size, i64 %column_size)
  goto %no unless %some
  goto %no if icmp slt i64 %shorter, $TILES_PAY$
  %params = alloca [16 x i64], align 16
  %matrices = extractvalue %Axis %matrix, $Axis.size$
  %matrix_to = extractvalue %Axis %matrix, $Axis.to$
  %matrix_from = extractvalue %Axis %matrix, $Axis.from$
  %row_to = extractvalue %Axis %row, $Axis.to$
  %column_from = extractvalue %Axis %column, $Axis.from$
  %e1 = sdiv i64 %matrix_to, %width
  %e2 = sdiv i64 %row_to, %width
  %e3 = sdiv i64 %matrix_from, %width
  %e4 = sdiv i64 %column_from, %width
  store i64 %to, ptr %params[7]
  store i64 %from, ptr %params[8]
  store i64 %matrices, ptr %params[9]
  store i64 %row_size, ptr %params[10]
  store i64 %column_size, ptr %params[11]
  store i64 %e1, ptr %params[12]
  store i64 %e2, ptr %params[13]
  store i64 %e3, ptr %params[14]
  store i64 %e4, ptr %params[15]
  %row_up = add i64 %row_size, $ALMOST_TILE$
  %row_tiles = sdiv i64 %row_up, $TILE$
  %column_up = add i64 %column_size, $ALMOST_TILE$
  %column_tiles = sdiv i64 %column_up, $TILE$
  %tiles = mul i64 %row_tiles, %column_tiles
  %blocks = mul i64 %tiles, %matrices
  call void @bulk(ptr %gpu, i64 $TRANSPOSE$, i64 %width, i64 %blocks, ptr %params, i64 128)
  ret i1 true
no:
  ret i1 false
}

; A copy by a thread for each element: sizes and strides of $MOST_DIMS$ axes, the innermost first.
define internal void @by_kernel(ptr %gpu, i64 %to, i64 %from, ptr %axes, i64 %n, i64 %width, i1 %is_fill) {
  %params = alloca [40 x i64], align 16
  store i64 %to, ptr %params[7]
  store i64 %from, ptr %params[8]
  %behind = select i1 %is_fill, i64 8, i64 9
  %count_place = getelementptr i64, ptr %params, i64 %behind
  store i64 %n, ptr %count_place[1]
  %sizes = getelementptr i64, ptr %count_place, i64 2
  %to_steps = getelementptr i64, ptr %sizes, i64 $MOST_DIMS$
  %from_steps = getelementptr i64, ptr %to_steps, i64 $MOST_DIMS$
  for %k < $MOST_DIMS$, i64 %count = 1 then %product {
    %k1 = add i64 %k, 1
    %there = icmp slt i64 %k, %n
    %number = sub i64 %n, %k1
    %known = select i1 %there, ptr %axes[%Axis %number], ptr @no_axis
    %axis = load %Axis, ptr %known
    %size = extractvalue %Axis %axis, $Axis.size$
    %to_bytes = extractvalue %Axis %axis, $Axis.to$
    %from_bytes = extractvalue %Axis %axis, $Axis.from$
    %to_step = sdiv i64 %to_bytes, %width
    %from_step = sdiv i64 %from_bytes, %width
    %product = mul i64 %count, %size
    store i64 %size, ptr %sizes[%k]
    store i64 %to_step, ptr %to_steps[%k]
    store i64 %from_step, ptr %from_steps[%k]
  }
  store i64 %count, ptr %count_place
  %up = add i64 %count, $ALMOST_CHUNK$
  %blocks = sdiv i64 %up, $THREADS$
  goto %copy unless %is_fill
  store i64 %from, ptr %from_steps
  %fill_bytes = add i64 %width, 208
  call void @bulk(ptr %gpu, i64 $FILL$, i64 %width, i64 %blocks, ptr %params, i64 %fill_bytes)
  ret void
copy:
  call void @bulk(ptr %gpu, i64 $COPY$, i64 %width, i64 %blocks, ptr %params, i64 280)
  ret void
}

@no_axis = internal constant %Axis { i64 1, i64 0, i64 0 }
