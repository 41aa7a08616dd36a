; Contexts on a GPU: the driver's functions by name, the primary context of a GPU, a stream, the image that fits it, a state
; for each entry. Arguments are copied there where they are not there yet, results back into memory of the host where that is
; not to be otherwise.

%Image = type { ptr, i64, ptr }  ; name arch code
%Form = type { ptr, i64, i64, %Variant }  ; name kernel number variant
%Limits = type { i64, i64 }  ; most threads
%Device = type { %Gpu, ptr, ptr, ptr, ptr, ptr, i32, i1, ptr }  ; gpu kernels variants held context module number keep image
%Request = type { i64, ptr, i64 }  ; device image keep -- in the header
%Kept = type { ptr, ptr }  ; address context

@driver = internal global [$FUNCTIONS$ x ptr] zeroinitializer
@driver_name = internal constant [13 x i8] c"libcuda.so.1\00"

define internal ptr @device_of(ptr %context) {
  ret ptr (load ptr, ptr %context->Context.arenas)
}

; ---- the driver

; All of the driver's functions, once in a process; false if there is no driver, or one that is too old.
define internal i1 @find_driver() {
  %library = call ptr @dlopen(ptr @driver_name, i32 2)
  ret i1 false if icmp eq ptr %library, null
  for %k < $FUNCTIONS$ {
    %found = call ptr @dlsym(ptr %library, ptr (load ptr, ptr @driver_names[%k]))
    ret i1 false if icmp eq ptr %found, null
    store ptr %found, ptr @driver[%k]
  }
  ret i1 (icmp eq i32 (call i32 *@driver[$cuInit$](i32 0)), 0)
}

define internal void @push(ptr %device) {
  %code = call i32 *@driver[$cuCtxPushCurrent_v2$](ptr (load ptr, ptr %device->Device.context))
}

define internal void @pop() {
  %old = alloca ptr, align 8
  %code = call i32 *@driver[$cuCtxPopCurrent_v2$](ptr %old)
}

define internal i64 @attribute(i32 %number, i32 %device) {
  %found = alloca i32, align 4
  store i32 0, ptr %found
  %code = call i32 *@driver[$cuDeviceGetAttribute$](ptr %found, i32 %number, i32 %device)
  ret i64 (sext i32 (load i32, ptr %found) to i64)
}

; ---- memory

define internal ptr @allocated(ptr %gpu, i64 %bytes) {
  %first = call ptr @asked(i64 %bytes)
  goto %done if icmp ne ptr %first, null
again:
  call void @soac_host_trim(ptr %gpu)
  %second = call ptr @asked(i64 %bytes)
done:
  %address = phi ptr [ %first, %entry ], [ %second, %again ]
  ret ptr %address
}

define internal ptr @asked(i64 %bytes) {
  %found = alloca ptr, align 8
  ret ptr null if icmp ne i32 (call i32 *@driver[$cuMemAlloc_v2$](ptr %found, i64 %bytes)), 0
  ret ptr (load ptr, ptr %found)
}

define internal void @freed(ptr %gpu, ptr %address) {
  ret void if icmp eq ptr %address, null
  %code = call i32 *@driver[$cuMemFree_v2$](ptr %address)
}

; Memory for the stacks of launches: one piece, which grows.
define internal void @more_stack(ptr %gpu, i64 %bytes) {
  call void @freed(ptr %gpu, ptr (inttoptr i64 (load i64, ptr %gpu->Gpu.stack) to ptr))
  %new = call ptr @allocated(ptr %gpu, i64 %bytes)
  store i64 (ptrtoint ptr %new to i64), ptr %gpu->Gpu.stack
  store i64 (select i1 (icmp eq ptr %new, null), i64 0, i64 %bytes), ptr %gpu->Gpu.stack_room
}

; A variant that a library does not have, and bulk kernels, which it has: there is nothing to be done.
define internal void @no_kernel(i64 %number, i64 %which) {
}

define internal void @no_bulk(ptr %gpu) {
}

; ---- contexts

; A context as a configuration says (null: by default); null if there is no memory. One that cannot run says why in its
; failure.
define ptr @$PROGRAM$_context_new(ptr %config) {
  %context = call ptr @calloc(i64 1, i64 (ptrtoint ptr getelementptr (%Context, ptr null, i64 1) to i64))
  ret ptr null if icmp eq ptr %context, null
begin:
  %locked = call i32 @pthread_mutex_init(ptr %context->Context.lock, ptr null)
  call void @preset(ptr %context)
  goto %configured if icmp eq ptr %config, null
read:
  %given = load %Request, ptr %config
configured:
  %how = phi %Request [ zeroinitializer, %begin ], [ %given, %read ]
  goto %fail unless call i1 @find_driver()
open:
  %why_not = call ptr @open_device(ptr %context, %Request %how)
  goto %fail if icmp ne ptr %why_not, null
  store ptr (load ptr, ptr @soac_targets), ptr %context->Context.target
  ret ptr %context
fail:
  %why = phi ptr [ @soac_site_driver, %configured ], [ %why_not, %open ]
  call void @soac_library_fail(ptr %context, ptr %why, ptr null)
  ret ptr %context
}

; The GPU of a configuration, its image and states; why not, or null.
define internal ptr @open_device(ptr %context, %Request %how) {
  %number = trunc i64 (extractvalue %Request %how, $Request.device$) to i32
  %found = alloca i32, align 4
  goto %no_gpu if icmp ne i32 (call i32 *@driver[$cuDeviceGet$](ptr %found, i32 %number)), 0
  %cuda_device = load i32, ptr %found
  %primary = alloca ptr, align 8
  goto %no_gpu if icmp ne i32 (call i32 *@driver[$cuDevicePrimaryCtxRetain$](ptr %primary, i32 %cuda_device)), 0
  %device = call ptr @calloc(i64 1, i64 (ptrtoint ptr getelementptr (%Device, ptr null, i64 1) to i64))
  store ptr %device, ptr %context->Context.arenas
  ret ptr @soac_site_memory if icmp eq ptr %device, null
  store ptr (load ptr, ptr %primary), ptr %device->Device.context
  store i32 %cuda_device, ptr %device->Device.number
  store i1 (icmp ne i64 (extractvalue %Request %how, $Request.keep$), 0), ptr %device->Device.keep
  call void @push(ptr %device)
  goto %no_image unless call i1 @load_image(ptr %device, ptr (extractvalue %Request %how, $Request.image$))
  %filled = call i1 @fill_gpu(ptr %device)
  %kernels = call i1 @fill_kernels(ptr %device)
  %states = call i1 @make_states(ptr %context, ptr %device)
  call void @pop()
  ret ptr @soac_site_memory unless %filled && %kernels && %states
  ret ptr null
no_image:
  call void @pop()
  ret ptr @soac_site_image
no_gpu:
  ret ptr @soac_site_gpu
}

; The first image (of the name that is asked for, if one is) that this GPU loads: cubins are for GPUs of their own number.
define internal i1 @load_image(ptr %device, ptr %wanted) {
  %number = load i32, ptr %device->Device.number
  %tens = mul i64 (call i64 @attribute(i32 75, i32 %number)), 10
  %arch = add i64 %tens, (call i64 @attribute(i32 76, i32 %number))
  %any = icmp eq ptr %wanted, null
  %module_place = getelementptr %Device, ptr %device, i32 0, i32 $Device.module$
  for %k < $IMAGES$ {
    %name = load ptr, ptr @soac_images[%k]->Image.name
    goto %suits if %any
    goto %next.k if icmp ne i32 (call i32 @strcmp(ptr %name, ptr %wanted)), 0
  suits:
    %own = load i64, ptr @soac_images[%k]->Image.arch
    goto %next.k unless or i1 (icmp eq i64 %own, 0), (icmp eq i64 %own, %arch)
    %data = load ptr, ptr @soac_images[%k]->Image.code
    goto %found if icmp eq i32 (call i32 *@driver[$cuModuleLoadData$](ptr %module_place, ptr %data)), 0
  }
  br label %none
found:
  store ptr %name, ptr %device->Device.image
  ret i1 true
none:
  store ptr null, ptr %module_place
  ret i1 false
}

; What launches and copies read.
define internal i1 @fill_gpu(ptr %gpu) {
  %number = load i32, ptr %gpu->Device.number
  call void @llvm.memcpy.p0.p0.i64(ptr %gpu, ptr @driver, i64 $GPU_FUNCTIONS$, i1 false)  ; both begin with these
  store ptr @allocated, ptr %gpu->Gpu.allocate
  store ptr @freed, ptr %gpu->Gpu.free
  store ptr @more_stack, ptr %gpu->Gpu.stacks
  store ptr @no_bulk, ptr %gpu->Gpu.need
  %bulk = call ptr @calloc(i64 16, i64 8)
  store ptr %bulk, ptr %gpu->Gpu.bulk
  %lists = call ptr @calloc(i64 $LISTS$, i64 8)
  store ptr %lists, ptr %gpu->Gpu.lists
  store i64 (call i64 @attribute(i32 16, i32 %number)), ptr %gpu->Gpu.multiprocessors
  %streamed = call i32 *@driver[$cuStreamCreate$](ptr %gpu->Gpu.stream, i32 0)
  %pinned = call i32 *@driver[$cuMemHostAlloc$](ptr %gpu->Gpu.pinned, i64 $RECORD_ROOM$, i32 0)
  %record = call ptr @asked(i64 $RECORD_ROOM$)
  store ptr %record, ptr %gpu->Gpu.record
  %a = and i1 (icmp eq i32 (or i32 %streamed, %pinned), 0), (icmp ne ptr %record, null)
  %all = and i1 %a, (and i1 (icmp ne ptr %bulk, null), (icmp ne ptr %lists, null))
  ret i1 %all
}

define internal ptr @kernel_code(ptr %device, ptr %name) {
  %found = alloca ptr, align 8
  store ptr null, ptr %found
  %code = call i32 *@driver[$cuModuleGetFunction$](ptr %found, ptr (load ptr, ptr %device->Device.module), ptr %name)
  ret ptr (load ptr, ptr %found)
}

; The tables of all kernels, with the variants that the library has; where there is none, that of the usual number of threads.
define internal i1 @fill_kernels(ptr %device) {
  %kernels = call ptr @calloc(i64 $KERNELS_ROOM$, i64 (ptrtoint ptr getelementptr (%Kernel, ptr null, i64 1) to i64))
  store ptr %kernels, ptr %device->Device.kernels
  %variants = call ptr @calloc(i64 $FORMS_ROOM$, i64 (ptrtoint ptr getelementptr (%Variant, ptr null, i64 1) to i64))
  store ptr %variants, ptr %device->Device.variants
  ret i1 false if icmp eq ptr %kernels, null || icmp eq ptr %variants, null
  %may_have = call i64 @attribute(i32 97, i32 (load i32, ptr %device->Device.number))
  %most = call i64 @llvm.smin.i64(i64 %may_have, i64 $MOST_SHARED$)
  %own = alloca i32, align 4
  for %k < $FORMS$ {
    %of = load %Form, ptr @soac_forms[%Form %k]
    %code = call ptr @kernel_code(ptr %device, ptr (extractvalue %Form %of, $Form.name$))
    store i32 0, ptr %own
    %asked = call i32 *@driver[$cuFuncGetAttribute$](ptr %own, i32 1, ptr %code)
    %left = sub i64 %most, (sext i32 (load i32, ptr %own) to i64)
    %shared = and i64 (call i64 @llvm.smax.i64(i64 %left, i64 0)), -16
    %allowed = call i32 *@driver[$cuFuncSetAttribute$](ptr %code, i32 8, i32 (trunc i64 %shared to i32))
    %with_code = insertvalue %Variant (extractvalue %Form %of, $Form.variant$), ptr %code, $Variant.code$
    store %Variant (insertvalue %Variant %with_code, i64 %shared, $Variant.shared_left$), ptr %variants[%Variant %k]
    %kernel = extractvalue %Form %of, $Form.kernel$
    %which = extractvalue %Form %of, $Form.number$
    store ptr %variants[%Variant %k], ptr %kernels[%kernel]->Kernel.variants[%which]
  }
  for %n < $KERNELS$ {
    %usual = load i64, ptr @soac_limits[%n]->Limits.threads
    store i64 (load i64, ptr @soac_limits[%n]->Limits.most), ptr %kernels[%n]->Kernel.most
    store i64 %usual, ptr %kernels[%n]->Kernel.threads
    store i64 $FIRST_BLOCK$, ptr %kernels[%n]->Kernel.block_stack
    store i64 $FIRST_THREAD$, ptr %kernels[%n]->Kernel.thread_stack
    %whole_number = sub i64 (lshr i64 %usual, 5), 1
    for %s < $VARIANTS$ {
      %slot_place = getelementptr %Kernel, ptr %kernels[%Kernel %n], i32 0, i32 $Kernel.variants$, i64 %s
      goto %next.s if icmp ne ptr (load ptr, ptr %slot_place), null
      %instead = add i64 (and i64 %s, 224), %whole_number
      store ptr (load ptr, ptr %kernels[%n]->Kernel.variants[%instead]), ptr %slot_place
    }
  }
  %bulk_table = load ptr, ptr %device->Gpu.bulk
  for %b < 16 {
    store ptr (call ptr @kernel_code(ptr %device, ptr (load ptr, ptr @soac_bulk_names[%b]))), ptr %bulk_table[%b]
  }
  ret i1 true
}

; A state for each entry, with its kernels.
define internal i1 @make_states(ptr %context, ptr %device) {
  %kernels = load ptr, ptr %device->Device.kernels
  for %k < $ENTRIES$ {
    %words = load i64, ptr @soac_entries[%k]->Entry.words
    %numbers = load ptr, ptr @soac_launched[%k]->Table.rows
    %count = load i64, ptr @soac_launched[%k]->Table.count
    %state = call ptr @calloc(i64 (add i64 %words, %count), i64 8)
    store ptr %state, ptr %context->Context.states[%k]
    ret i1 false if icmp eq ptr %state, null
    %table = getelementptr i64, ptr %state, i64 %words
    store ptr %table, ptr %state[$KERNELS_WORD$]
    store ptr %device, ptr %state[$DEVICE_WORD$]
    store ptr @no_kernel, ptr %state[$NEED_WORD$]
    %record = load i64, ptr @soac_entries[%k]->Entry.record
    store ptr %state[%record], ptr %state[$RECORD_WORD$]
    for %n < %count {
      %number = load i64, ptr %numbers[%n]
      store ptr %kernels[%Kernel %number], ptr %table[%n]
    }
  }
  ret i1 true
}

define void @$PROGRAM$_context_free(ptr %context) {
  ret void if icmp eq ptr %context, null
  %device = call ptr @device_of(ptr %context)
  goto %states if icmp eq ptr %device, null
  call void @close_device(ptr %device)
states:
  call void @free_states(ptr %context)
  %destroyed = call i32 @pthread_mutex_destroy(ptr %context->Context.lock)
  call void @free(ptr %context)
}

define internal void @close_device(ptr %device) {
  call void @push(ptr %device)
  call void @freed(ptr %device, ptr (inttoptr i64 (load i64, ptr %device->Gpu.stack) to ptr))
  call void @freed(ptr %device, ptr (inttoptr i64 (load i64, ptr %device->Gpu.record) to ptr))
  %lists = load ptr, ptr %device->Gpu.lists
  goto %pinned if icmp eq ptr %lists, null
  call void @soac_host_trim(ptr %device)
pinned:
  %pages = load ptr, ptr %device->Gpu.pinned
  goto %stream if icmp eq ptr %pages, null
  %unpinned = call i32 *@driver[$cuMemFreeHost$](ptr %pages)
stream:
  %queue = load ptr, ptr %device->Gpu.stream
  goto %module if icmp eq ptr %queue, null
  %destroyed = call i32 *@driver[$cuStreamDestroy_v2$](ptr %queue)
module:
  %loaded = load ptr, ptr %device->Device.module
  goto %leave if icmp eq ptr %loaded, null
  %unloaded = call i32 *@driver[$cuModuleUnload$](ptr %loaded)
leave:
  call void @pop()
  %released = call i32 *@driver[$cuDevicePrimaryCtxRelease_v2$](i32 (load i32, ptr %device->Device.number))
  call void @free(ptr (load ptr, ptr %device->Gpu.bulk))
  call void @free(ptr %lists)
  call void @free(ptr (load ptr, ptr %device->Device.kernels))
  call void @free(ptr (load ptr, ptr %device->Device.variants))
  call void @free(ptr %device)
}

; The name of the image that runs.
define ptr @$PROGRAM$_context_target(ptr %context) {
  %device = call ptr @device_of(ptr %context)
  goto %done if icmp eq ptr %device, null
some:
  %known = load ptr, ptr %device->Device.image
done:
  %name = phi ptr [ null, %entry ], [ %known, %some ]
  ret ptr %name
}

; Give up what an array of a result owns: memory of the host, or of a GPU. Of the latter an owner is odd; its context may
; be gone, and the memory with it.
define void @$PROGRAM$_release(ptr %owner) {
  goto %host if icmp eq i64 (and i64 (ptrtoint ptr %owner to i64), 1), 0
  %of = load %Kept, ptr %owner[i8 -1]
  %entered = call i32 *@driver[$cuCtxPushCurrent_v2$](ptr (extractvalue %Kept %of, $Kept.context$))
  call void @freed(ptr null, ptr (extractvalue %Kept %of, $Kept.address$))
  call void @pop()
  call void @free(ptr %owner[i8 -1])
  ret void
host:
  call void @free(ptr %owner)
}

; ---- what calls ask of a device (calls.ll)

define internal i64 @soac_library_enter(ptr %context) {
  %device = call ptr @device_of(ptr %context)
  call void @push(ptr %device)
  call void @forget_failures(ptr %device)
  ret i64 $FINE$
}

define internal void @forget_failures(ptr %gpu) {
  %record = inttoptr i64 (load i64, ptr %gpu->Gpu.record) to ptr
  %cleared = call i32 *%gpu->Gpu.clear(ptr %record, i8 0, i64 $RECORD_BYTES$, ptr (load ptr, ptr %gpu->Gpu.stream))
  store i64 0, ptr %gpu->Gpu.pending
  store i64 0, ptr %gpu->Gpu.failing
  store i64 0, ptr %gpu->Gpu.error
}

; What arguments are copied to goes back to the lists; nothing of a call is under way then.
define internal void @soac_library_leave(ptr %context) {
  %device = call ptr @device_of(ptr %context)
  %waited = call i32 *%device->Gpu.wait(ptr (load ptr, ptr %device->Gpu.stream))
  %place = getelementptr %Device, ptr %device, i32 0, i32 $Device.held$
each:
  %held = load ptr, ptr %place
  goto %done if icmp eq ptr %held, null
  store ptr (load ptr, ptr %held->Buffer.next), ptr %place
  %dropped = call i64 @soac_host_drop(ptr %held)
  br label %each
done:
  call void @pop()
}

; Where memory is, of its attributes: 2 for a GPU, 9 for which one; -1 if the driver does not know it.
define internal i32 @attribute_of(ptr %address, i32 %which) {
  %found = alloca i32, align 4
  %known = icmp eq i32 (call i32 *@driver[$cuPointerGetAttribute$](ptr %found, i32 %which, ptr %address)), 0
  ret i32 (select i1 %known, i32 (load i32, ptr %found), i32 -1)
}

; An argument in memory of this GPU, at a place that any load may have, stays there. Another one is copied there; its words
; get that address.
define internal i1 @soac_library_take(ptr %context, ptr %state, ptr %words, i64 %rank, i64 %width) {
  %device = call ptr @device_of(ptr %context)
  %from = load ptr, ptr %words
  %of_gpu = icmp eq i32 (call i32 @attribute_of(ptr %from, i32 2)), 2
  goto %copy unless %of_gpu
  %where = call i32 @attribute_of(ptr %from, i32 9)
  %aligned = icmp eq i64 (and i64 (ptrtoint ptr %from to i64), 15), 0
  goto %done if and i1 (icmp eq i32 %where, (load i32, ptr %device->Device.number)), %aligned
copy:
  %bytes = call i64 @bytes_in(ptr %words[1], i64 %rank, i64 %width)
  %buffer = call ptr @soac_host_take(ptr %state, i64 %bytes)
  goto %fail if icmp eq ptr %buffer, null
  store ptr (load ptr, ptr %device->Device.held), ptr %buffer->Buffer.next
  store ptr %buffer, ptr %device->Device.held
  %there = call ptr @soac_host_data(ptr %buffer)
  %address = ptrtoint ptr %there to i64
  store i64 %address, ptr %words
  goto %up unless %of_gpu
  %stream = load ptr, ptr %device->Gpu.stream
  %copied = icmp eq i32 (call i32 *%device->Gpu.copy(ptr %there, ptr %from, i64 %bytes, ptr %stream)), 0
  br i1 %copied, label %done, label %fail
up:
  call void @soac_host_upload(ptr %state, i64 %address, ptr %from, i64 %bytes)
done:
  ret i1 true
fail:
  ret i1 false
}

define internal i64 @bytes_in(ptr %sizes, i64 %rank, i64 %width) {
  for %k < %rank, i64 %bytes = %width then %product {
    %product = mul i64 %bytes, (load i64, ptr %sizes[%k])
  }
  ret i64 %bytes
}

; A result is copied to memory of the host, which is its owner's; or stays where it is, and its buffer is no more.
define internal i1 @soac_library_give(ptr %context, ptr %from, ptr %to, ptr %owner, i64 %rank, i64 %width) {
  %device = call ptr @device_of(ptr %context)
  goto %fetch_it unless load i1, ptr %device->Device.keep
  %kept = call ptr @calloc(i64 1, i64 16)
  ret i1 false if icmp eq ptr %kept, null
  %k1 = insertvalue %Kept zeroinitializer, ptr (load ptr, ptr %to), $Kept.address$
  store %Kept (insertvalue %Kept %k1, ptr (load ptr, ptr %device->Device.context), $Kept.context$), ptr %kept
  store ptr %kept[i8 1], ptr %owner
  %whole = load ptr, ptr %from
  store ptr null, ptr %from
  call void @soac_host_let_go(ptr %whole)
  ret i1 true
fetch_it:
  %bytes = call i64 @bytes_in(ptr %to[1], i64 %rank, i64 %width)
  %memory = call ptr @aligned_alloc(i64 64, i64 (and i64 (add i64 %bytes, 64), -64))
  ret i1 false if icmp eq ptr %memory, null
  %data = load ptr, ptr %to
  store ptr %memory, ptr %to
  store ptr %memory, ptr %owner
  %buffer = load ptr, ptr %from
  store ptr null, ptr %from
  goto %drop if icmp eq i64 %bytes, 0
  call void @fetched(ptr %device, ptr %memory, ptr %data, i64 %bytes)
drop:
  %dropped = call i64 @soac_host_drop(ptr %buffer)
  ret i1 true
}

; The host program; again where arrays inside of a kernel had too little room, as long as one block could have more.
define internal i64 @soac_library_run(ptr %context, ptr %row, ptr %code, ptr %state) {
  %device = call ptr @device_of(ptr %context)
again:
  %status = call i64 %code(ptr %state)
  goto %done if icmp ne i64 %status, $KERNEL$
  %record = load ptr, ptr %state[$RECORD_WORD$]
  %site = sub i64 (load i64, ptr %record), 1
  goto %done if icmp uge i64 %site, $SITES$
  %owner = load i64, ptr @soac_stack_of[%site]
  goto %done if icmp slt i64 %owner, 0
  goto %done unless call i1 @enlarged(ptr %device, i64 %owner, ptr %record)
  call void @soac_library_forget(ptr %row, ptr %state)
  call void @forget_failures(ptr %device)
  store i64 0, ptr %state[$TRACED_WORD$]
  br label %again
done:
  ret i64 %status
}

; Give the arrays of a kernel more room from now on, unless one block alone would fill the GPU.
define internal i1 @enlarged(ptr %device, i64 %number, ptr %record) {
  %kernel = getelementptr %Kernel, ptr (load ptr, ptr %device->Device.kernels), i64 %number
  %of_thread = icmp ne i64 (load i64, ptr %record[1]), 0
  %place = select i1 %of_thread, ptr %kernel->Kernel.thread_stack, ptr %kernel->Kernel.block_stack
  %size = call i64 @llvm.smax.i64(i64 (load i64, ptr %record[2]), i64 (mul i64 (load i64, ptr %place), 2))
  %users = select i1 %of_thread, i64 (load i64, ptr %kernel->Kernel.threads), i64 1
  %free = alloca i64, align 8
  %total = alloca i64, align 8
  store i64 0, ptr %total
  %asked = call i32 *@driver[$cuMemGetInfo_v2$](ptr %free, ptr %total)
  %fits = icmp sle i64 %size, (sdiv i64 (load i64, ptr %total), %users)
  goto %done unless %fits
  store i64 %size, ptr %place
done:
  ret i1 %fits
}

; What a call has failed at: a check of a kernel, or the driver with a number of its own; null if there was no memory.
define internal ptr @soac_library_found(ptr %context, ptr %row, ptr %state, i64 %status, i64 %number) {
  switch i64 %status, label %memory [ i64 $KERNEL$, label %kernel i64 $DRIVER$, label %refused ]
kernel:
  goto %memory if icmp uge i64 %number, $SITES$ || icmp sge i64 (load i64, ptr @soac_stack_of[%number]), 0
  ret ptr (getelementptr %Site, ptr @soac_all_sites, i64 %number)
refused:
  %device = call ptr @device_of(ptr %context)
  %record = load ptr, ptr %state[$RECORD_WORD$]
  store i64 (load i64, ptr %device->Gpu.error), ptr %record[1]
  ret ptr @soac_site_refused
memory:
  ret ptr null
}
