; Contexts on a GPU: the driver's functions by name, the primary context of a GPU, a stream, the image that fits it, a state
; for each entry. Arguments are copied there where they are not there yet, results back into memory of the host where that is
; not to be otherwise.

%Image = type { ptr, i64, ptr }  ; name arch code
%Form = type { ptr, i64, i64, i64, i64, i64, i64, i64, i64 }  ; name kernel number threads together turns fails stacks near
%Limits = type { i64, i64 }  ; most threads
%Device = type { %Gpu, ptr, ptr, ptr, ptr, ptr, i32, i1, ptr }  ; gpu kernels variants held context module number keep image
%Request = type { i64, ptr, i64 }  ; device image keep -- in the header
%Kept = type { ptr, ptr }  ; address context

declare ptr @dlopen(ptr, i32)
declare ptr @dlsym(ptr, ptr)
@driver = internal global [$FUNCTIONS$ x ptr] zeroinitializer
@driver_name = internal constant [13 x i8] c"libcuda.so.1\00"

define internal ptr @device_of(ptr %context) {
  %device = load ptr, ptr %context->Context.arenas
  ret ptr %device
}

; ---- the driver

; All of the driver's functions, once in a process; false if there is no driver, or one that is too old.
define internal i1 @find_driver() {
entry:
  %library = call ptr @dlopen(ptr @driver_name, i32 2)
  %none = icmp eq ptr %library, null
  br i1 %none, label %fail, label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %got ]
  %more = icmp slt i64 %k, $FUNCTIONS$
  br i1 %more, label %find, label %init
find:
  %name = load ptr, ptr @driver_names[%k]
  %found = call ptr @dlsym(ptr %library, ptr %name)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %fail, label %got
got:
  store ptr %found, ptr @driver[%k]
  %k1 = add i64 %k, 1
  br label %each
init:
  %function = load ptr, ptr @driver[$cuInit$]
  %code = call i32 %function(i32 0)
  %fine = icmp eq i32 %code, 0
  ret i1 %fine
fail:
  ret i1 false
}

define internal void @push(ptr %device) {
  %context = load ptr, ptr %device->Device.context
  %function = load ptr, ptr @driver[$cuCtxPushCurrent_v2$]
  %code = call i32 %function(ptr %context)
  ret void
}

define internal void @pop() {
  %old = alloca ptr, align 8
  %function = load ptr, ptr @driver[$cuCtxPopCurrent_v2$]
  %code = call i32 %function(ptr %old)
  ret void
}

define internal i64 @attribute(i32 %number, i32 %device) {
  %found = alloca i32, align 4
  store i32 0, ptr %found
  %function = load ptr, ptr @driver[$cuDeviceGetAttribute$]
  %code = call i32 %function(ptr %found, i32 %number, i32 %device)
  %value = load i32, ptr %found
  %wide = sext i32 %value to i64
  ret i64 %wide
}

; ---- memory

define internal ptr @allocated(ptr %gpu, i64 %bytes) {
entry:
  %first = call ptr @asked(i64 %bytes)
  %none = icmp eq ptr %first, null
  br i1 %none, label %again, label %done
again:
  call void @soac_host_trim(ptr %gpu)
  %second = call ptr @asked(i64 %bytes)
  br label %done
done:
  %address = phi ptr [ %first, %entry ], [ %second, %again ]
  ret ptr %address
}

define internal ptr @asked(i64 %bytes) {
entry:
  %found = alloca ptr, align 8
  %function = load ptr, ptr @driver[$cuMemAlloc_v2$]
  %code = call i32 %function(ptr %found, i64 %bytes)
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %got, label %none
got:
  %address = load ptr, ptr %found
  ret ptr %address
none:
  ret ptr null
}

define internal void @freed(ptr %gpu, ptr %address) {
entry:
  %none = icmp eq ptr %address, null
  br i1 %none, label %done, label %give
give:
  %function = load ptr, ptr @driver[$cuMemFree_v2$]
  %code = call i32 %function(ptr %address)
  br label %done
done:
  ret void
}

; Memory for the stacks of launches: one piece, which grows.
define internal void @more_stack(ptr %gpu, i64 %bytes) {
entry:
  %old_word = load i64, ptr %gpu->Gpu.stack
  %old = inttoptr i64 %old_word to ptr
  call void @freed(ptr %gpu, ptr %old)
  %new = call ptr @allocated(ptr %gpu, i64 %bytes)
  %none = icmp eq ptr %new, null
  %room = select i1 %none, i64 0, i64 %bytes
  %word = ptrtoint ptr %new to i64
  store i64 %word, ptr %gpu->Gpu.stack
  store i64 %room, ptr %gpu->Gpu.stack_room
  ret void
}

; A variant that a library does not have, and bulk kernels, which it has: there is nothing to be done.
define internal void @no_kernel(i64 %number, i64 %which) {
  ret void
}

define internal void @no_bulk(ptr %gpu) {
  ret void
}

; ---- contexts

; A context as a configuration says (null: by default); null if there is no memory. One that cannot run says why in its
; failure.
define ptr @$PROGRAM$_context_new(ptr %config) {
entry:
  %bytes = ptrtoint ptr getelementptr (%Context, ptr null, i64 1) to i64
  %context = call ptr @calloc(i64 1, i64 %bytes)
  %none = icmp eq ptr %context, null
  br i1 %none, label %gone, label %begin
begin:
  %locked = call i32 @pthread_mutex_init(ptr %context->Context.lock, ptr null)
  call void @preset(ptr %context)
  %is_default = icmp eq ptr %config, null
  br i1 %is_default, label %configured, label %read
read:
  %given = load %Request, ptr %config
  br label %configured
configured:
  %how = phi %Request [ zeroinitializer, %begin ], [ %given, %read ]
  %there = call i1 @find_driver()
  br i1 %there, label %open, label %fail
open:
  %why_not = call ptr @open_device(ptr %context, %Request %how)
  %opened = icmp eq ptr %why_not, null
  br i1 %opened, label %fine, label %fail
fine:
  %target = load ptr, ptr @soac_targets
  store ptr %target, ptr %context->Context.target
  ret ptr %context
fail:
  %why = phi ptr [ @soac_site_driver, %configured ], [ %why_not, %open ]
  call void @soac_library_fail(ptr %context, ptr %why, ptr null)
  ret ptr %context
gone:
  ret ptr null
}

; The GPU of a configuration, its image and states; why not, or null.
define internal ptr @open_device(ptr %context, %Request %how) {
entry:
  %asked = extractvalue %Request %how, $Request.device$
  %wanted = extractvalue %Request %how, $Request.image$
  %number = trunc i64 %asked to i32
  %found = alloca i32, align 4
  %get = load ptr, ptr @driver[$cuDeviceGet$]
  %got = call i32 %get(ptr %found, i32 %number)
  %has_gpu = icmp eq i32 %got, 0
  br i1 %has_gpu, label %retain, label %no_gpu
retain:
  %cuda_device = load i32, ptr %found
  %primary = alloca ptr, align 8
  %retain_it = load ptr, ptr @driver[$cuDevicePrimaryCtxRetain$]
  %retained = call i32 %retain_it(ptr %primary, i32 %cuda_device)
  %has_context = icmp eq i32 %retained, 0
  br i1 %has_context, label %make, label %no_gpu
make:
  %bytes = ptrtoint ptr getelementptr (%Device, ptr null, i64 1) to i64
  %device = call ptr @calloc(i64 1, i64 %bytes)
  store ptr %device, ptr %context->Context.arenas
  %no_room = icmp eq ptr %device, null
  br i1 %no_room, label %no_memory, label %fill
fill:
  %cuda_context = load ptr, ptr %primary
  store ptr %cuda_context, ptr %device->Device.context
  store i32 %cuda_device, ptr %device->Device.number
  %keep = extractvalue %Request %how, $Request.keep$
  %keeps = icmp ne i64 %keep, 0
  store i1 %keeps, ptr %device->Device.keep
  call void @push(ptr %device)
  %loaded = call i1 @load_image(ptr %device, ptr %wanted)
  br i1 %loaded, label %words, label %no_image
words:
  %filled = call i1 @fill_gpu(ptr %device)
  %kernels = call i1 @fill_kernels(ptr %device)
  %states = call i1 @make_states(ptr %context, ptr %device)
  %some = and i1 %filled, %kernels
  %all = and i1 %some, %states
  call void @pop()
  br i1 %all, label %fine, label %no_memory
fine:
  ret ptr null
no_image:
  call void @pop()
  ret ptr @soac_site_image
no_gpu:
  ret ptr @soac_site_gpu
no_memory:
  ret ptr @soac_site_memory
}

; The first image (of the name that is asked for, if one is) that this GPU loads: cubins are for GPUs of their own number.
define internal i1 @load_image(ptr %device, ptr %wanted) {
entry:
  %number = load i32, ptr %device->Device.number
  %major = call i64 @attribute(i32 75, i32 %number)
  %minor = call i64 @attribute(i32 76, i32 %number)
  %tens = mul i64 %major, 10
  %arch = add i64 %tens, %minor
  %any = icmp eq ptr %wanted, null
  %module_place = getelementptr %Device, ptr %device, i32 0, i32 $Device.module$
  %load = load ptr, ptr @driver[$cuModuleLoadData$]
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %more = icmp slt i64 %k, $IMAGES$
  br i1 %more, label %look, label %none
look:
  %image = load %Image, ptr @soac_images[%Image %k]
  %name = extractvalue %Image %image, $Image.name$
  br i1 %any, label %suits, label %compare
compare:
  %differs = call i32 @strcmp(ptr %name, ptr %wanted)
  %same = icmp eq i32 %differs, 0
  br i1 %same, label %suits, label %next
suits:
  %own = extractvalue %Image %image, $Image.arch$
  %is_ptx = icmp eq i64 %own, 0
  %is_ours = icmp eq i64 %own, %arch
  %may = or i1 %is_ptx, %is_ours
  br i1 %may, label %try, label %next
try:
  %data = extractvalue %Image %image, $Image.code$
  %code = call i32 %load(ptr %module_place, ptr %data)
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %found, label %next
next:
  %k1 = add i64 %k, 1
  br label %each
found:
  store ptr %name, ptr %device->Device.image
  ret i1 true
none:
  store ptr null, ptr %module_place
  ret i1 false
}

define internal void @put(ptr %gpu, i64 %field, ptr %value) {
  store ptr %value, ptr %gpu[%field]
  ret void
}

; What launches and copies read.
define internal i1 @fill_gpu(ptr %gpu) {
entry:
  %number = load i32, ptr %gpu->Device.number
  %launch = load ptr, ptr @driver[$cuLaunchKernel$]
  call void @put(ptr %gpu, i64 $Gpu.launch$, ptr %launch)
  %download = load ptr, ptr @driver[$cuMemcpyDtoHAsync_v2$]
  call void @put(ptr %gpu, i64 $Gpu.download$, ptr %download)
  %upload = load ptr, ptr @driver[$cuMemcpyHtoDAsync_v2$]
  call void @put(ptr %gpu, i64 $Gpu.upload$, ptr %upload)
  %copy = load ptr, ptr @driver[$cuMemcpyDtoDAsync_v2$]
  call void @put(ptr %gpu, i64 $Gpu.copy$, ptr %copy)
  %clear = load ptr, ptr @driver[$cuMemsetD8Async$]
  call void @put(ptr %gpu, i64 $Gpu.clear$, ptr %clear)
  %pairs = load ptr, ptr @driver[$cuMemsetD16Async$]
  call void @put(ptr %gpu, i64 $Gpu.set_16$, ptr %pairs)
  %words = load ptr, ptr @driver[$cuMemsetD32Async$]
  call void @put(ptr %gpu, i64 $Gpu.set_32$, ptr %words)
  %wait = load ptr, ptr @driver[$cuStreamSynchronize$]
  call void @put(ptr %gpu, i64 $Gpu.wait$, ptr %wait)
  call void @put(ptr %gpu, i64 $Gpu.allocate$, ptr @allocated)
  call void @put(ptr %gpu, i64 $Gpu.free$, ptr @freed)
  call void @put(ptr %gpu, i64 $Gpu.stacks$, ptr @more_stack)
  call void @put(ptr %gpu, i64 $Gpu.need$, ptr @no_bulk)
  %bulk = call ptr @calloc(i64 16, i64 8)
  call void @put(ptr %gpu, i64 $Gpu.bulk$, ptr %bulk)
  %lists = call ptr @calloc(i64 $LISTS$, i64 8)
  call void @put(ptr %gpu, i64 $Gpu.lists$, ptr %lists)
  %many = call i64 @attribute(i32 16, i32 %number)
  store i64 %many, ptr %gpu->Gpu.multiprocessors
  %stream = load ptr, ptr @driver[$cuStreamCreate$]
  %streamed = call i32 %stream(ptr %gpu->Gpu.stream, i32 0)
  %pin = load ptr, ptr @driver[$cuMemHostAlloc$]
  %pinned = call i32 %pin(ptr %gpu->Gpu.pinned, i64 $RECORD_ROOM$, i32 0)
  %record = call ptr @asked(i64 $RECORD_ROOM$)
  call void @put(ptr %gpu, i64 $Gpu.record$, ptr %record)
  %failures = or i32 %streamed, %pinned
  %good = icmp eq i32 %failures, 0
  %has_record = icmp ne ptr %record, null
  %has_bulk = icmp ne ptr %bulk, null
  %has_lists = icmp ne ptr %lists, null
  %a = and i1 %good, %has_record
  %b = and i1 %has_bulk, %has_lists
  %all = and i1 %a, %b
  ret i1 %all
}

define internal ptr @kernel_code(ptr %device, ptr %name) {
  %found = alloca ptr, align 8
  store ptr null, ptr %found
  %module = load ptr, ptr %device->Device.module
  %get = load ptr, ptr @driver[$cuModuleGetFunction$]
  %code = call i32 %get(ptr %found, ptr %module, ptr %name)
  %kernel = load ptr, ptr %found
  ret ptr %kernel
}

; The tables of all kernels, with the variants that the library has; where there is none, that of the usual number of threads.
define internal i1 @fill_kernels(ptr %device) {
entry:
  %kernel_bytes = ptrtoint ptr getelementptr (%Kernel, ptr null, i64 1) to i64
  %kernels = call ptr @calloc(i64 $KERNELS_ROOM$, i64 %kernel_bytes)
  store ptr %kernels, ptr %device->Device.kernels
  %variant_bytes = ptrtoint ptr getelementptr (%Variant, ptr null, i64 1) to i64
  %variants = call ptr @calloc(i64 $FORMS_ROOM$, i64 %variant_bytes)
  store ptr %variants, ptr %device->Device.variants
  %no_kernels = icmp eq ptr %kernels, null
  %no_variants = icmp eq ptr %variants, null
  %full = or i1 %no_kernels, %no_variants
  br i1 %full, label %fail, label %begin
begin:
  %number = load i32, ptr %device->Device.number
  %may_have = call i64 @attribute(i32 97, i32 %number)
  %most = call i64 @llvm.smin.i64(i64 %may_have, i64 $MOST_SHARED$)
  %attribute = load ptr, ptr @driver[$cuFuncGetAttribute$]
  %allow = load ptr, ptr @driver[$cuFuncSetAttribute$]
  %own = alloca i32, align 4
  br label %each
each:
  %k = phi i64 [ 0, %begin ], [ %k1, %form ]
  %more = icmp slt i64 %k, $FORMS$
  br i1 %more, label %form, label %each_kernel
form:
  %of = load %Form, ptr @soac_forms[%Form %k]
  %name = extractvalue %Form %of, $Form.name$
  %code = call ptr @kernel_code(ptr %device, ptr %name)
  store i32 0, ptr %own
  %asked = call i32 %attribute(ptr %own, i32 1, ptr %code)
  %declared = load i32, ptr %own
  %declared_wide = sext i32 %declared to i64
  %left = sub i64 %most, %declared_wide
  %some = call i64 @llvm.smax.i64(i64 %left, i64 0)
  %shared = and i64 %some, -16
  %to_allow = trunc i64 %shared to i32
  %allowed = call i32 %allow(ptr %code, i32 8, i32 %to_allow)
  %threads = extractvalue %Form %of, $Form.threads$
  %together = extractvalue %Form %of, $Form.together$
  %turns = extractvalue %Form %of, $Form.turns$
  %fails = extractvalue %Form %of, $Form.fails$
  %stacks = extractvalue %Form %of, $Form.stacks$
  %v1 = insertvalue %Variant zeroinitializer, ptr %code, $Variant.code$
  %v2 = insertvalue %Variant %v1, i64 %threads, $Variant.threads$
  %v3 = insertvalue %Variant %v2, i64 %together, $Variant.together$
  %v4 = insertvalue %Variant %v3, i64 %turns, $Variant.turns$
  %v5 = insertvalue %Variant %v4, i64 %fails, $Variant.fails$
  %v6 = insertvalue %Variant %v5, i64 %stacks, $Variant.stacks$
  %v7 = insertvalue %Variant %v6, i64 %shared, $Variant.shared_left$
  %near = extractvalue %Form %of, $Form.near$
  %v8 = insertvalue %Variant %v7, i64 %near, $Variant.near$
  store %Variant %v8, ptr %variants[%Variant %k]
  %kernel = extractvalue %Form %of, $Form.kernel$
  %which = extractvalue %Form %of, $Form.number$
  store ptr %variants[%Variant %k], ptr %kernels[%kernel]->Kernel.variants[%which]
  %k1 = add i64 %k, 1
  br label %each
each_kernel:
  %n = phi i64 [ 0, %each ], [ %n1, %kernel_done ]
  %others = icmp slt i64 %n, $KERNELS$
  br i1 %others, label %limits, label %bulk
limits:
  %row = load %Limits, ptr @soac_limits[%Limits %n]
  %most_shared = extractvalue %Limits %row, $Limits.most$
  %usual = extractvalue %Limits %row, $Limits.threads$
  %table = getelementptr %Kernel, ptr %kernels, i64 %n
  store i64 %most_shared, ptr %table->Kernel.most
  store i64 %usual, ptr %table->Kernel.threads
  store i64 $FIRST_BLOCK$, ptr %table->Kernel.block_stack
  store i64 $FIRST_THREAD$, ptr %table->Kernel.thread_stack
  %warps = lshr i64 %usual, 5
  %whole_number = sub i64 %warps, 1
  br label %each_slot
each_slot:
  %s = phi i64 [ 0, %limits ], [ %s1, %slot_done ]
  %slots = icmp slt i64 %s, $VARIANTS$
  br i1 %slots, label %look, label %kernel_done
look:
  %s1 = add i64 %s, 1
  %slot_place = getelementptr %Kernel, ptr %table, i32 0, i32 $Kernel.variants$, i64 %s
  %known = load ptr, ptr %slot_place
  %missing = icmp eq ptr %known, null
  br i1 %missing, label %replace, label %slot_done
replace:
  %row_of = and i64 %s, 224
  %instead = add i64 %row_of, %whole_number
  %other = load ptr, ptr %table->Kernel.variants[%instead]
  store ptr %other, ptr %slot_place
  br label %slot_done
slot_done:
  br label %each_slot
kernel_done:
  %n1 = add i64 %n, 1
  br label %each_kernel
bulk:
  %bulk_table = load ptr, ptr %device->Gpu.bulk
  br label %each_bulk
each_bulk:
  %b = phi i64 [ 0, %bulk ], [ %b1, %bulk_one ]
  %bulks = icmp slt i64 %b, 16
  br i1 %bulks, label %bulk_one, label %fine
bulk_one:
  %bulk_name = load ptr, ptr @soac_bulk_names[%b]
  %bulk_code = call ptr @kernel_code(ptr %device, ptr %bulk_name)
  store ptr %bulk_code, ptr %bulk_table[%b]
  %b1 = add i64 %b, 1
  br label %each_bulk
fine:
  ret i1 true
fail:
  ret i1 false
}

; A state for each entry, with its kernels.
define internal i1 @make_states(ptr %context, ptr %device) {
entry:
  %kernels = load ptr, ptr %device->Device.kernels
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %listed ]
  %more = icmp slt i64 %k, $ENTRIES$
  br i1 %more, label %make, label %done
make:
  %of = load %Entry, ptr @soac_entries[%Entry %k]
  %words = extractvalue %Entry %of, $Entry.words$
  %listing = load %Table, ptr @soac_launched[%Table %k]
  %numbers = extractvalue %Table %listing, $Table.rows$
  %count = extractvalue %Table %listing, $Table.count$
  %all_words = add i64 %words, %count
  %state = call ptr @calloc(i64 %all_words, i64 8)
  store ptr %state, ptr %context->Context.states[%k]
  %none = icmp eq ptr %state, null
  br i1 %none, label %done, label %got
got:
  %table = getelementptr i64, ptr %state, i64 %words
  store ptr %table, ptr %state[$KERNELS_WORD$]
  store ptr %device, ptr %state[$DEVICE_WORD$]
  store ptr @no_kernel, ptr %state[$NEED_WORD$]
  %record = extractvalue %Entry %of, $Entry.record$
  store ptr %state[%record], ptr %state[$RECORD_WORD$]
  %k1 = add i64 %k, 1
  br label %listed
listed:
  %n = phi i64 [ 0, %got ], [ %n1, %put ]
  %others = icmp slt i64 %n, %count
  br i1 %others, label %put, label %each
put:
  %number = load i64, ptr %numbers[%n]
  store ptr %kernels[%Kernel %number], ptr %table[%n]
  %n1 = add i64 %n, 1
  br label %listed
done:
  %all = xor i1 %more, true
  ret i1 %all
}

define void @$PROGRAM$_context_free(ptr %context) {
entry:
  %none = icmp eq ptr %context, null
  br i1 %none, label %done, label %look
look:
  %device = call ptr @device_of(ptr %context)
  %no_device = icmp eq ptr %device, null
  br i1 %no_device, label %states, label %close
close:
  call void @close_device(ptr %device)
  br label %states
states:
  %e = phi i64 [ 0, %look ], [ 0, %close ], [ %e1, %state ], [ %e1, %trace ]
  %others = icmp slt i64 %e, $ENTRIES$
  br i1 %others, label %state, label %end
state:
  %words = load ptr, ptr %context->Context.states[%e]
  %e1 = add i64 %e, 1
  %no_state = icmp eq ptr %words, null
  br i1 %no_state, label %states, label %trace
trace:
  %pairs = load ptr, ptr %words[$TRACE_WORD$]
  call void @free(ptr %pairs)
  call void @free(ptr %words)
  br label %states
end:
  %destroyed = call i32 @pthread_mutex_destroy(ptr %context->Context.lock)
  call void @free(ptr %context)
  br label %done
done:
  ret void
}

define internal void @close_device(ptr %device) {
entry:
  call void @push(ptr %device)
  %of = load %Gpu, ptr %device
  %stack_word = extractvalue %Gpu %of, $Gpu.stack$
  %stack = inttoptr i64 %stack_word to ptr
  call void @freed(ptr %device, ptr %stack)
  %record_word = extractvalue %Gpu %of, $Gpu.record$
  %record = inttoptr i64 %record_word to ptr
  call void @freed(ptr %device, ptr %record)
  %lists = extractvalue %Gpu %of, $Gpu.lists$
  %no_lists = icmp eq ptr %lists, null
  br i1 %no_lists, label %pinned, label %trim
trim:
  call void @soac_host_trim(ptr %device)
  br label %pinned
pinned:
  %pages = extractvalue %Gpu %of, $Gpu.pinned$
  %no_pages = icmp eq ptr %pages, null
  br i1 %no_pages, label %stream, label %unpin
unpin:
  %unpin_it = load ptr, ptr @driver[$cuMemFreeHost$]
  %unpinned = call i32 %unpin_it(ptr %pages)
  br label %stream
stream:
  %queue = extractvalue %Gpu %of, $Gpu.stream$
  %no_queue = icmp eq ptr %queue, null
  br i1 %no_queue, label %module, label %destroy
destroy:
  %destroy_it = load ptr, ptr @driver[$cuStreamDestroy_v2$]
  %destroyed = call i32 %destroy_it(ptr %queue)
  br label %module
module:
  %loaded = load ptr, ptr %device->Device.module
  %no_module = icmp eq ptr %loaded, null
  br i1 %no_module, label %leave, label %unload
unload:
  %unload_it = load ptr, ptr @driver[$cuModuleUnload$]
  %unloaded = call i32 %unload_it(ptr %loaded)
  br label %leave
leave:
  call void @pop()
  %number = load i32, ptr %device->Device.number
  %release_it = load ptr, ptr @driver[$cuDevicePrimaryCtxRelease_v2$]
  %released = call i32 %release_it(i32 %number)
  %bulk = extractvalue %Gpu %of, $Gpu.bulk$
  call void @free(ptr %bulk)
  call void @free(ptr %lists)
  %kernels = load ptr, ptr %device->Device.kernels
  call void @free(ptr %kernels)
  %variants = load ptr, ptr %device->Device.variants
  call void @free(ptr %variants)
  call void @free(ptr %device)
  ret void
}

; The name of the image that runs.
define ptr @$PROGRAM$_context_target(ptr %context) {
entry:
  %device = call ptr @device_of(ptr %context)
  %none = icmp eq ptr %device, null
  br i1 %none, label %done, label %some
some:
  %known = load ptr, ptr %device->Device.image
  br label %done
done:
  %name = phi ptr [ null, %entry ], [ %known, %some ]
  ret ptr %name
}

; Give up what an array of a result owns: memory of the host, or of a GPU. Of the latter an owner is odd; its context may
; be gone, and the memory with it.
define void @$PROGRAM$_release(ptr %owner) {
entry:
  %word = ptrtoint ptr %owner to i64
  %odd = and i64 %word, 1
  %on_gpu = icmp ne i64 %odd, 0
  br i1 %on_gpu, label %gpu, label %host
gpu:
  %of = load %Kept, ptr %owner[i8 -1]
  %address = extractvalue %Kept %of, $Kept.address$
  %cuda_context = extractvalue %Kept %of, $Kept.context$
  %enter = load ptr, ptr @driver[$cuCtxPushCurrent_v2$]
  %entered = call i32 %enter(ptr %cuda_context)
  call void @freed(ptr null, ptr %address)
  call void @pop()
  call void @free(ptr %owner[i8 -1])
  ret void
host:
  call void @free(ptr %owner)
  ret void
}

; ---- what calls ask of a device (calls.ll)

define internal i64 @soac_library_enter(ptr %context) {
  %device = call ptr @device_of(ptr %context)
  call void @push(ptr %device)
  call void @forget_failures(ptr %device)
  ret i64 $FINE$
}

define internal void @forget_failures(ptr %gpu) {
  %of = load %Gpu, ptr %gpu
  %record_word = extractvalue %Gpu %of, $Gpu.record$
  %record = inttoptr i64 %record_word to ptr
  %clear = extractvalue %Gpu %of, $Gpu.clear$
  %stream = extractvalue %Gpu %of, $Gpu.stream$
  %cleared = call i32 %clear(ptr %record, i8 0, i64 $RECORD_BYTES$, ptr %stream)
  store i64 0, ptr %gpu->Gpu.pending
  store i64 0, ptr %gpu->Gpu.failing
  store i64 0, ptr %gpu->Gpu.error
  ret void
}

; What arguments are copied to goes back to the lists; nothing of a call is under way then.
define internal void @soac_library_leave(ptr %context) {
entry:
  %device = call ptr @device_of(ptr %context)
  %of = load %Gpu, ptr %device
  %wait = extractvalue %Gpu %of, $Gpu.wait$
  %stream = extractvalue %Gpu %of, $Gpu.stream$
  %waited = call i32 %wait(ptr %stream)
  %place = getelementptr %Device, ptr %device, i32 0, i32 $Device.held$
  br label %each
each:
  %held = load ptr, ptr %place
  %none = icmp eq ptr %held, null
  br i1 %none, label %done, label %drop
drop:
  %next = load ptr, ptr %held->Buffer.next
  store ptr %next, ptr %place
  %dropped = call i64 @soac_host_drop(ptr %held)
  br label %each
done:
  call void @pop()
  ret void
}

; Where memory is, of its attributes: 2 for a GPU, 9 for which one; -1 if the driver does not know it.
define internal i32 @attribute_of(ptr %address, i32 %which) {
entry:
  %found = alloca i32, align 4
  %ask = load ptr, ptr @driver[$cuPointerGetAttribute$]
  %code = call i32 %ask(ptr %found, i32 %which, ptr %address)
  %known = icmp eq i32 %code, 0
  %value = load i32, ptr %found
  %given = select i1 %known, i32 %value, i32 -1
  ret i32 %given
}

; An argument in memory of this GPU, at a place that any load may have, stays there. Another one is copied there; its words
; get that address.
define internal i1 @soac_library_take(ptr %context, ptr %state, ptr %words, i64 %rank, i64 %width) {
entry:
  %device = call ptr @device_of(ptr %context)
  %sizes = getelementptr i64, ptr %words, i64 1
  %from = load ptr, ptr %words
  %kind = call i32 @attribute_of(ptr %from, i32 2)
  %of_gpu = icmp eq i32 %kind, 2
  br i1 %of_gpu, label %which, label %copy
which:
  %where = call i32 @attribute_of(ptr %from, i32 9)
  %number = load i32, ptr %device->Device.number
  %is_this = icmp eq i32 %where, %number
  %word = ptrtoint ptr %from to i64
  %odd = and i64 %word, 15
  %aligned = icmp eq i64 %odd, 0
  %stays = and i1 %is_this, %aligned
  br i1 %stays, label %done, label %copy
copy:
  %bytes = call i64 @bytes_in(ptr %sizes, i64 %rank, i64 %width)
  %buffer = call ptr @soac_host_take(ptr %state, i64 %bytes)
  %none = icmp eq ptr %buffer, null
  br i1 %none, label %fail, label %got
got:
  %before = load ptr, ptr %device->Device.held
  store ptr %before, ptr %buffer->Buffer.next
  store ptr %buffer, ptr %device->Device.held
  %there = call ptr @soac_host_data(ptr %buffer)
  %address = ptrtoint ptr %there to i64
  store i64 %address, ptr %words
  br i1 %of_gpu, label %across, label %up
across:
  %copy_it = load ptr, ptr %device->Gpu.copy
  %stream = load ptr, ptr %device->Gpu.stream
  %code = call i32 %copy_it(ptr %there, ptr %from, i64 %bytes, ptr %stream)
  %copied = icmp eq i32 %code, 0
  br i1 %copied, label %done, label %fail
up:
  call void @soac_host_upload(ptr %state, i64 %address, ptr %from, i64 %bytes)
  br label %done
done:
  ret i1 true
fail:
  ret i1 false
}

define internal i64 @bytes_in(ptr %sizes, i64 %rank, i64 %width) {
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %bytes = phi i64 [ %width, %entry ], [ %product, %go ]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %go, label %done
go:
  %size = load i64, ptr %sizes[%k]
  %product = mul i64 %bytes, %size
  %k1 = add i64 %k, 1
  br label %each
done:
  ret i64 %bytes
}

; A result is copied to memory of the host, which is its owner's; or stays where it is, and its buffer is no more.
define internal i1 @soac_library_give(ptr %context, ptr %from, ptr %to, ptr %owner, i64 %rank, i64 %width) {
entry:
  %device = call ptr @device_of(ptr %context)
  %keeps = load i1, ptr %device->Device.keep
  br i1 %keeps, label %keep, label %fetch_it
keep:
  %kept = call ptr @calloc(i64 1, i64 16)
  %no_owner = icmp eq ptr %kept, null
  br i1 %no_owner, label %fail, label %own
own:
  %here = load ptr, ptr %to
  %cuda_context = load ptr, ptr %device->Device.context
  %k1 = insertvalue %Kept zeroinitializer, ptr %here, $Kept.address$
  %k2 = insertvalue %Kept %k1, ptr %cuda_context, $Kept.context$
  store %Kept %k2, ptr %kept
  store ptr %kept[i8 1], ptr %owner
  %whole = load ptr, ptr %from
  store ptr null, ptr %from
  call void @soac_host_let_go(ptr %whole)
  ret i1 true
fetch_it:
  %bytes = call i64 @bytes_in(ptr %to[1], i64 %rank, i64 %width)
  %up = add i64 %bytes, 64
  %room = and i64 %up, -64
  %memory = call ptr @aligned_alloc(i64 64, i64 %room)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %fail, label %copy
copy:
  %data = load ptr, ptr %to
  store ptr %memory, ptr %to
  store ptr %memory, ptr %owner
  %buffer = load ptr, ptr %from
  store ptr null, ptr %from
  %nothing = icmp eq i64 %bytes, 0
  br i1 %nothing, label %drop, label %fetch
fetch:
  call void @fetched(ptr %device, ptr %memory, ptr %data, i64 %bytes)
  br label %drop
drop:
  %dropped = call i64 @soac_host_drop(ptr %buffer)
  ret i1 true
fail:
  ret i1 false
}

; The host program; again where arrays inside of a kernel had too little room, as long as one block could have more.
define internal i64 @soac_library_run(ptr %context, ptr %row, ptr %code, ptr %state) {
entry:
  %device = call ptr @device_of(ptr %context)
  br label %again
again:
  %status = call i64 %code(ptr %state)
  %failed = icmp eq i64 %status, $KERNEL$
  br i1 %failed, label %look, label %done
look:
  %record = load ptr, ptr %state[$RECORD_WORD$]
  %which = load i64, ptr %record
  %site = sub i64 %which, 1
  %known = icmp ult i64 %site, $SITES$
  br i1 %known, label %of_stack, label %done
of_stack:
  %owner = load i64, ptr @soac_stack_of[%site]
  %is_check = icmp slt i64 %owner, 0
  br i1 %is_check, label %done, label %grow
grow:
  %larger = call i1 @enlarged(ptr %device, i64 %owner, ptr %record)
  br i1 %larger, label %retry, label %done
retry:
  call void @soac_library_forget(ptr %row, ptr %state)
  call void @forget_failures(ptr %device)
  store i64 0, ptr %state[$TRACED_WORD$]
  br label %again
done:
  ret i64 %status
}

; Give the arrays of a kernel more room from now on, unless one block alone would fill the GPU.
define internal i1 @enlarged(ptr %device, i64 %number, ptr %record) {
entry:
  %kernels = load ptr, ptr %device->Device.kernels
  %kernel = getelementptr %Kernel, ptr %kernels, i64 %number
  %space = load i64, ptr %record[1]
  %needs = load i64, ptr %record[2]
  %of_thread = icmp ne i64 %space, 0
  %place = select i1 %of_thread, ptr %kernel->Kernel.thread_stack, ptr %kernel->Kernel.block_stack
  %old = load i64, ptr %place
  %twice = mul i64 %old, 2
  %size = call i64 @llvm.smax.i64(i64 %needs, i64 %twice)
  %threads = load i64, ptr %kernel->Kernel.threads
  %users = select i1 %of_thread, i64 %threads, i64 1
  %free = alloca i64, align 8
  %total = alloca i64, align 8
  store i64 0, ptr %total
  %ask = load ptr, ptr @driver[$cuMemGetInfo_v2$]
  %asked = call i32 %ask(ptr %free, ptr %total)
  %all = load i64, ptr %total
  %each = sdiv i64 %all, %users
  %fits = icmp sle i64 %size, %each
  br i1 %fits, label %set, label %done
set:
  store i64 %size, ptr %place
  br label %done
done:
  ret i1 %fits
}

; What a call has failed at: a check of a kernel, or the driver with a number of its own; null if there was no memory.
define internal ptr @soac_library_found(ptr %context, ptr %row, ptr %state, i64 %status, i64 %number) {
entry:
  switch i64 %status, label %memory [ i64 $KERNEL$, label %kernel i64 $DRIVER$, label %refused ]
kernel:
  %known = icmp ult i64 %number, $SITES$
  br i1 %known, label %check, label %memory
check:
  %owner = load i64, ptr @soac_stack_of[%number]
  %is_stack = icmp sge i64 %owner, 0
  br i1 %is_stack, label %memory, label %site
site:
  %place = getelementptr %Site, ptr @soac_all_sites, i64 %number
  ret ptr %place
refused:
  %device = call ptr @device_of(ptr %context)
  %error = load i64, ptr %device->Gpu.error
  %record = load ptr, ptr %state[$RECORD_WORD$]
  store i64 %error, ptr %record[1]
  ret ptr @soac_site_refused
memory:
  ret ptr null
}
