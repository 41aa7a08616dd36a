; A library of a program: what its parts share. All files of this folder are one module; the tables in Python are rows of
; these structs (tables.py), and what stands in the header is marked so.

%Array = type { ptr, ptr, [0 x i64] }  ; buffer data sizes
%Table = type { ptr, i64 }  ; rows count
%Arena = type { ptr, i64, i64 }  ; base used size
%Value = type { i64, i64, i64 }  ; word rank bytes
%Use = type { i64, i64, i64 }  ; setting default is_size
%Setting = type { ptr, i64, i64, i64 }  ; name default preset is_set
%Site = type { ptr, ptr, ptr, ptr, i64, i64, ptr }  ; code text kinds file line column calls
%Entry = type { i64, i64, i64, i64, %Table, %Table, %Table, ptr, ptr, ptr, ptr }  ; words first_setting record threads params results uses sites calls kernels unsuited
%Target = type { ptr, i64, ptr, ptr, ptr }  ; name level hosts kernels bulk
%Choice = type { i64, i64 }  ; value is_set
%Config = type { i64, ptr }  ; threads target -- in the header
%Failure = type { ptr, ptr, ptr, i64, i64, ptr, ptr, ptr }  ; code message file line column calls kinds values -- in the header
%Context = type { %Failure, i64, ptr, i64, ptr, [$ENTRIES$ x ptr], [$SETTINGS$ x %Choice], [128 x i8], [$MESSAGE$ x i8], [$MESSAGE$ x i8], [$MESSAGE$ x i8] }  ; failure failed target threads arenas states choices lock message path called

declare i32 @snprintf(ptr, i64, ptr, ...)
