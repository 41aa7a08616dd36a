; Thresholds, sizes and numbers of threads by name, from the caller or a tuning file.

@reading = internal constant [2 x i8] c"r\00"
@digits = internal constant [11 x i8] c"0123456789\00"
@line_ends = internal constant [3 x i8] c"\0D\0A\00"
@blanks = internal constant [5 x i8] c" \09\0D\0A\00"
@equals = internal constant [2 x i8] c"=\00"
@copied_text = internal constant [3 x i8] c"%s\00"

define i64 @$PROGRAM$_setting_count() {
  ret i64 $SETTINGS$
}

; The name of setting number %k; null if there is none of that number.
define ptr @$PROGRAM$_setting_name(i64 %k) {
  ret ptr null if icmp uge i64 %k, $SETTINGS$
  ret ptr (load ptr, ptr @soac_settings[%k]->Setting.name)
}

; What a setting is; 1 if the program has none of this name.
define i32 @$PROGRAM$_get(ptr %context, ptr %name, ptr %value) {
  %k = call i64 @setting_number(ptr %name, i64 (call i64 @strlen(ptr %name)))
  goto %fail if icmp sge i64 %k, $SETTINGS$
  %choice = load %Choice, ptr %context->Context.choices[%k]
  %said = load i64, ptr @soac_settings[%k]->Setting.default
  %default = select i1 (icmp eq i64 %said, $OF_THREADS$), i64 (load i64, ptr %context->Context.threads), i64 %said
  %chosen = extractvalue %Choice %choice, $Choice.value$
  %found = select i1 (icmp eq i64 (extractvalue %Choice %choice, $Choice.is_set$), 0), i64 %default, i64 %chosen
  store i64 %found, ptr %value
  ret i32 0
fail:
  call void @soac_library_fail(ptr %context, ptr @soac_site_setting, ptr null)
  ret i32 1
}

; Set what the next calls run with; 1 if the program has no setting of this name, or the value is negative.
define i32 @$PROGRAM$_set(ptr %context, ptr %name, i64 %value) {
  %k = call i64 @setting_number(ptr %name, i64 (call i64 @strlen(ptr %name)))
  goto %fail if icmp sge i64 %k, $SETTINGS$ || icmp slt i64 %value, 0
  call void @choose(ptr %context, i64 %k, i64 %value)
  ret i32 0
fail:
  call void @soac_library_fail(ptr %context, ptr @soac_site_setting, ptr null)
  ret i32 1
}

define internal void @choose(ptr %context, i64 %k, i64 %value) {
  store %Choice { i64 0, i64 1 }, ptr %context->Context.choices[%k]
  store i64 %value, ptr %context->Context.choices[%k]
}

; What the program was built with.
define internal void @preset(ptr %context) {
  for %k < $SETTINGS$ {
    %value = load i64, ptr @soac_settings[%k]->Setting.preset
    %with_value = insertvalue %Choice zeroinitializer, i64 %value, $Choice.value$
    %choice = insertvalue %Choice %with_value, i64 (load i64, ptr @soac_settings[%k]->Setting.is_set), $Choice.is_set$
    store %Choice %choice, ptr %context->Context.choices[%k]
  }
}

; The number of the setting with this name of %length bytes; how many there are if there is none.
define internal i64 @setting_number(ptr %name, i64 %length) {
  for %k < $SETTINGS$ {
    %other = load ptr, ptr @soac_settings[%k]->Setting.name
    %as_long = icmp eq i64 (call i64 @strlen(ptr %other)), %length
    goto %done if and i1 %as_long, (icmp eq i32 (call i32 @strncmp(ptr %other, ptr %name, i64 %length)), 0)
  }
done:
  ret i64 %k
}

; Take the settings of a tuning file, lines NAME=INTEGER: all of them, or none where a line is wrong. Names that the
; program does not have are left out.
define i32 @$PROGRAM$_load_tuning(ptr %context, ptr %path) {
  %copied = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %context->Context.path, i64 $MESSAGE$, ptr @copied_text, ptr %path)
  %file = call ptr @fopen(ptr %path, ptr @reading)
  goto %unreadable if icmp eq ptr %file, null
  %bad = call i64 @read_lines(ptr null, ptr %file)
  goto %wrong if icmp ne i64 %bad, 0
  call void @rewind(ptr %file)
  %taken = call i64 @read_lines(ptr %context, ptr %file)
  %closed = call i32 @fclose(ptr %file)
  ret i32 0
wrong:
  %closed_too = call i32 @fclose(ptr %file)
  call void @soac_library_fail(ptr %context, ptr @soac_site_line, ptr null)
  call void @place_in_file(ptr %context, i64 %bad)
  ret i32 1
unreadable:
  call void @soac_library_fail(ptr %context, ptr @soac_site_file, ptr null)
  call void @place_in_file(ptr %context, i64 0)
  ret i32 1
}

; The failure is of a line of the file.
define internal void @place_in_file(ptr %context, i64 %line) {
  store ptr %context->Context.path, ptr %context->Failure.file
  store i64 %line, ptr %context->Failure.line
}

; The number of the first line that is wrong, 0 if none is; the settings of a context take what they say, if there is one.
define internal i64 @read_lines(ptr %context, ptr %file) {
  %text = alloca [$MESSAGE$ x i8], align 16
  %checks = icmp eq ptr %context, null
each:
  %number = phi i64 [ 1, %entry ], [ %next, %split ], [ %next, %known ], [ %next, %put ]
  ret i64 0 if icmp eq ptr (call ptr @fgets(ptr %text, i32 $MESSAGE$, ptr %file)), null
split:
  %next = add i64 %number, 1
  %length = call i64 @strcspn(ptr %text, ptr @line_ends)
  goto %each if icmp uge i64 (call i64 @strspn(ptr %text, ptr @blanks)), %length
  %name_length = call i64 @strcspn(ptr %text, ptr @equals)
  %word = call i64 @strcspn(ptr %text, ptr @blanks)
  %value_text = getelementptr i8, ptr %text[i8 %name_length], i64 1
  %first = select i1 (icmp ult i64 %name_length, %length), ptr %value_text, ptr %text[i8 %name_length]
  %digits = call i64 @strspn(ptr %first, ptr @digits)
  %whole = icmp eq i64 (add i64 (add i64 %name_length, 1), %digits), %length
  %sized = and i1 (and i1 %whole, (icmp ne i64 %digits, 0)), (icmp ule i64 %digits, 19)
  goto %wrong unless and i1 (and i1 (icmp ne i64 %name_length, 0), (icmp eq i64 %word, %length)), %sized
known:
  %value = call i64 @strtol(ptr %value_text, ptr null, i32 10)
  %k = call i64 @setting_number(ptr %text, i64 %name_length)
  goto %each unless and i1 (icmp slt i64 %k, $SETTINGS$), (xor i1 %checks, true)
put:
  call void @choose(ptr %context, i64 %k, i64 %value)
  br label %each
wrong:
  ret i64 %number
}
