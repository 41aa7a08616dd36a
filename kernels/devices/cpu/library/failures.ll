; Failures: the site says code, message and place, the record has the values. In a message the byte 1 stands for the next
; value, and 2 for nothing, where the next value is left out.

@show_signed = internal constant [5 x i8] c"%lld\00"
@show_unsigned = internal constant [5 x i8] c"%llu\00"
@show_float = internal constant [5 x i8] c"%.*g\00"
@show_text = internal constant [3 x i8] c"%s\00"
@show_next = internal constant [4 x i8] c"\0A%s\00"
@true_text = internal constant [5 x i8] c"true\00"
@false_text = internal constant [6 x i8] c"false\00"
@point = internal constant [3 x i8] c".0\00"
@not_whole = internal constant [5 x i8] c".ein\00"
@nothing = internal constant [1 x i8] zeroinitializer

; What the last call on a context failed with; null if it did not.
define ptr @$PROGRAM$_failure(ptr %context) {
  %failure = select i1 (icmp eq i64 (load i64, ptr %context->Context.failed), 0), ptr null, ptr %context
  ret ptr %failure
}

; The failure of a context is this one, with values in a record (null: without).
define void @soac_library_fail(ptr %context, ptr %place, ptr %values) {
  %kinds = load ptr, ptr %place->Site.kinds
  %text = load ptr, ptr %place->Site.text
  call void @write_message(ptr %context->Context.message, ptr %text, ptr %kinds, ptr %values)
  %f1 = insertvalue %Failure zeroinitializer, ptr (load ptr, ptr %place->Site.code), $Failure.code$
  %f2 = insertvalue %Failure %f1, ptr %context->Context.message, $Failure.message$
  %f3 = insertvalue %Failure %f2, ptr (load ptr, ptr %place->Site.file), $Failure.file$
  %f4 = insertvalue %Failure %f3, i64 (load i64, ptr %place->Site.line), $Failure.line$
  %f5 = insertvalue %Failure %f4, i64 (load i64, ptr %place->Site.column), $Failure.column$
  %f6 = insertvalue %Failure %f5, ptr (load ptr, ptr %place->Site.calls), $Failure.calls$
  %f7 = insertvalue %Failure %f6, ptr %kinds, $Failure.kinds$
  store %Failure (insertvalue %Failure %f7, ptr %values, $Failure.values$), ptr %context
  store i64 1, ptr %context->Context.failed
}

; The failure of a context came about in functions that an entry called: the trace ends with notes of these calls, the
; innermost first. They stand behind the calls of the site, as many as are shown, as far as there is room.
define void @soac_library_called(ptr %context, ptr %row, ptr %state) {
  %listed = load ptr, ptr %row->Entry.calls
  %trace = load ptr, ptr %state[$TRACE_WORD$]
  %count = load i64, ptr %state[$TRACED_WORD$]
  %text = getelementptr %Context, ptr %context, i32 0, i32 $Context.called$
  %calls_place = getelementptr %Failure, ptr %context, i32 0, i32 $Failure.calls$
  %calls = load ptr, ptr %calls_place
  %before = select i1 (icmp eq ptr %calls, null), ptr @nothing, ptr %calls
  %n1 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text, i64 $MESSAGE$, ptr @show_text, ptr %before)
  %start = sext i32 %n1 to i64
find:
  %first = phi i64 [ %count, %entry ], [ %lower, %look ]
  goto %found if icmp sle i64 %first, 0
look:
  %lower = sub i64 %first, 1
  %pair = mul i64 %lower, 2
  goto %find if icmp eq i64 (load i64, ptr %trace[%pair]), $CALLED$
found:
  %last = call i64 @llvm.smin.i64(i64 %count, i64 (add i64 %first, $MAX_CALLS$))
each:
  %k = phi i64 [ %first, %found ], [ %k1, %add ]
  %at = phi i64 [ %start, %found ], [ %end, %add ]
  %room = sub i64 $MESSAGE$, %at
  goto %done if icmp sge i64 %k, %last || icmp sle i64 %room, 1
add:
  %k1 = add i64 %k, 1
  %odd = add i64 (mul i64 %k, 2), 1
  %which = load i64, ptr %trace[%odd]
  %call = load ptr, ptr %listed[%which]
  %form = select i1 (icmp eq i64 %at, 0), ptr @show_text, ptr @show_next
  %n2 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text[i8 %at], i64 %room, ptr %form, ptr %call)
  %end = add i64 %at, (sext i32 %n2 to i64)
  br label %each
done:
  store ptr (select i1 (icmp sgt i64 %at, 0), ptr %text, ptr null), ptr %calls_place
}

; A message with its values, as far as there is room.
define internal void @write_message(ptr %message, ptr %text, ptr %kinds, ptr %values) {
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %plain ], [ %k1, %skip ], [ %k1, %next ]
  %v = phi i64 [ 0, %entry ], [ %v, %plain ], [ %v2, %skip ], [ %v1, %next ]
  %at = phi i64 [ 0, %entry ], [ %at1, %plain ], [ %at, %skip ], [ %behind, %next ]
  %char = load i8, ptr %text[i8 %k]
  %room = sub i64 $MESSAGE$, %at
  %k1 = add i64 %k, 1
  goto %done if icmp sle i64 %room, 1 || icmp eq i8 %char, 0
  switch i8 %char, label %plain [ i8 1, label %next i8 2, label %skip ]
plain:
  store i8 %char, ptr %message[i8 %at]
  %at1 = add i64 %at, 1
  br label %each
skip:
  %v2 = add i64 %v, 1
  br label %each
next:
  %kind = load i8, ptr %kinds[i8 %v]
  %v1 = add i64 %v, 1
  %sum = add i64 %at, (call i64 @show_value(ptr %message[i8 %at], i64 %room, i8 %kind, i64 (load i64, ptr %values[%v])))
  %behind = call i64 @llvm.smin.i64(i64 %sum, i64 $MESSAGE_END$)
  br label %each
done:
  store i8 0, ptr %message[i8 %at]
}

; A value as messages show it; gives its length.
define internal i64 @show_value(ptr %to, i64 %room, i8 %kind, i64 %value) {
  switch i8 %kind, label %signed [ i8 $UNSIGNED$, label %unsigned i8 $TRUTH$, label %truth i8 $FLOAT$, label %float ]
signed:
  %n1 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to, i64 %room, ptr @show_signed, i64 %value)
  br label %done
unsigned:
  %n2 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to, i64 %room, ptr @show_unsigned, i64 %value)
  br label %done
truth:
  %text = select i1 (icmp eq i64 %value, 0), ptr @false_text, ptr @true_text
  %n3 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to, i64 %room, ptr @show_text, ptr %text)
  br label %done
float:
  %number = bitcast i64 %value to double
try:
  %digits = phi i32 [ 1, %float ], [ %more_digits, %again ]
  %n4 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to, i64 %room, ptr @show_float, i32 %digits, double %number)
  goto %whole if fcmp ueq double (call double @strtod(ptr %to, ptr null)), %number || icmp sge i32 %digits, 17
again:
  %more_digits = add i32 %digits, 1
  br label %try
whole:
  %end_text = select i1 (icmp eq ptr (call ptr @strpbrk(ptr %to, ptr @not_whole)), null), ptr @point, ptr @nothing
  %wide = sext i32 %n4 to i64
  %left = sub i64 %room, %wide
  %n5 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to[i8 %wide], i64 %left, ptr @show_text, ptr %end_text)
  %n6 = add i32 %n4, %n5
done:
  %n = phi i32 [ %n1, %signed ], [ %n2, %unsigned ], [ %n3, %truth ], [ %n6, %whole ]
  ret i64 (sext i32 %n to i64)
}
