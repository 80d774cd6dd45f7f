;; A plugin each of whose codecs breaks the contract in a way of its own; the first one keeps it.
(module
  (import "gridhold_plugin" "log" (func $log (param i32 i32)))
  (import "gridhold_plugin" "read" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (table $t 2 funcref)
  (elem (i32.const 0) func $around $wide)
  (global $top (mut i32) (i32.const 8192))
  (global $calls (mut i32) (i32.const 0))
  (data (i32.const 1024) "{\"name\":\"hostile\",\"codecs\":[{\"names\":[\"right\"]},{\"names\":[\"endless\"]},{\"names\":[\"recursion\"]},{\"names\":[\"around\"]},{\"names\":[\"wide\"]},{\"names\":[\"bomb\"]},{\"names\":[\"tables\"]},{\"names\":[\"fill\"]},{\"names\":[\"long\"]},{\"names\":[\"longest\"]},{\"names\":[\"absent\"]},{\"names\":[\"unknown\"]},{\"names\":[\"trap\"]},{\"names\":[\"changing\"]},{\"names\":[\"talking\"]},{\"names\":[\"reading\"]},{\"names\":[\"short\"]},{\"names\":[\"hoarding\"]},{\"names\":[\"copy\"]},{\"names\":[\"reentry\"]}]}")
  (func (export "gp_abi") (result i32) (i32.const 0x10000))
  (func (export "gp_alloc") (param i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $top))
    (global.set $top (i32.add (global.get $top) (i32.and (i32.add (local.get 0) (i32.const 15)) (i32.const -16))))
    (if (i32.gt_u (global.get $top) (i32.mul (memory.size) (i32.const 65536)))
      (then (drop (memory.grow (i32.add (i32.shr_u (local.get 0) (i32.const 16)) (i32.const 1))))))
    (local.get $at))
  (func (export "gp_reset") (global.set $top (i32.const 8192)))
  (func (export "gp_about") (param i32) (result i32)
    (i32.store (local.get 0) (i32.const 1024))
    (i32.store (i32.add (local.get 0) (i32.const 4)) (i32.const 448))
    (i32.const 0))
  (func $down (param i32) (result i32) (i32.add (i32.const 1) (call $down (i32.add (local.get 0) (i32.const 1)))))
  (func $around (result i32) (i32.add (i32.const 1) (call_indirect (result i32) (i32.const 0))))
  ;; As much as can be made to lie in one frame: values that are needed after the call.
  (func $wide (result i32)
    (local v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (local.set 0 (v128.load (i32.const 0))) (local.set 1 (v128.load (i32.const 16))) (local.set 2 (v128.load (i32.const 32)))
    (local.set 3 (v128.load (i32.const 48))) (local.set 4 (v128.load (i32.const 64))) (local.set 5 (v128.load (i32.const 80)))
    (local.set 6 (v128.load (i32.const 96))) (local.set 7 (v128.load (i32.const 112))) (local.set 8 (v128.load (i32.const 128)))
    (local.set 9 (v128.load (i32.const 144))) (local.set 10 (v128.load (i32.const 160))) (local.set 11 (v128.load (i32.const 176)))
    (local.set 12 (v128.load (i32.const 192))) (local.set 13 (v128.load (i32.const 208))) (local.set 14 (v128.load (i32.const 224)))
    (local.set 15 (v128.load (i32.const 240))) (local.set 16 (v128.load (i32.const 256))) (local.set 17 (v128.load (i32.const 272)))
    (local.set 18 (v128.load (i32.const 288))) (local.set 19 (v128.load (i32.const 304))) (local.set 20 (v128.load (i32.const 320)))
    (local.set 21 (v128.load (i32.const 336))) (local.set 22 (v128.load (i32.const 352))) (local.set 23 (v128.load (i32.const 368)))
    (i32.add (call_indirect (result i32) (i32.const 1)) (i32x4.extract_lane 0
      (v128.xor (v128.xor (v128.xor (v128.xor (local.get 0) (local.get 1)) (v128.xor (local.get 2) (local.get 3))) (v128.xor (v128.xor (local.get 4) (local.get 5)) (v128.xor (local.get 6) (local.get 7))))
        (v128.xor (v128.xor (v128.xor (v128.xor (local.get 8) (local.get 9)) (v128.xor (local.get 10) (local.get 11))) (v128.xor (v128.xor (local.get 12) (local.get 13)) (v128.xor (local.get 14) (local.get 15))))
          (v128.xor (v128.xor (v128.xor (local.get 16) (local.get 17)) (v128.xor (local.get 18) (local.get 19))) (v128.xor (v128.xor (local.get 20) (local.get 21)) (v128.xor (local.get 22) (local.get 23)))))))))
  ;; Takes all the memory that it can get, and touches it.
  (func $bomb (local $at i32)
    (loop $more
      (local.set $at (memory.grow (i32.const 16)))
      (if (i32.ne (local.get $at) (i32.const -1))
        (then
          (memory.fill (i32.shl (local.get $at) (i32.const 16)) (i32.const 1) (i32.const 0x100000))
          (br $more)))))
  (func $tables
    (loop $more
      (br_if $more (i32.ne (table.grow $t (ref.func $around) (i32.const 1000)) (i32.const -1)))))
  (func (export "gp_decode") (param $codec i32) (param $cfg i32) (param $cfg_len i32) (param $src i32) (param $n i32) (param $dst i32) (param $room i32) (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (block $19 (block $18 (block $17 (block $16 (block $15 (block $14 (block $13 (block $12 (block $11 (block $10 (block $9 (block $8 (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11 $12 $13 $14 $15 $16 $17 $18 $19 (local.get $codec)))
      ;; right
      (memory.copy (local.get $dst) (local.get $src) (local.get $n)) (return (local.get $n)))
      ;; endless
      (loop $ever (br $ever)))
      ;; recursion
      (return (call $down (i32.const 0))))
      ;; around, through a table
      (return (call $around)))
      ;; wide
      (return (call $wide)))
      ;; bomb
      (call $bomb) (return (i32.const 0)))
      ;; tables
      (call $tables) (return (table.size $t)))
      ;; fill: all of its memory, for ever
      (call $bomb) (loop $again (memory.fill (i32.const 8192) (i32.const 7) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 8192))) (br $again)))
      ;; long
      (return (i32.add (local.get $room) (i32.const 1))))
      ;; longest
      (return (i32.const 0x7fffffff)))
      ;; absent: a code that would mean a chunk that is not there
      (return (i32.const -1)))
      ;; unknown
      (return (i32.const -1000000)))
      ;; trap
      (unreachable))
      ;; changing: a byte less each time
      (memory.copy (local.get $dst) (local.get $src) (local.get $n)) (return (i32.sub (local.get $n) (global.get $calls))))
      ;; talking
      (loop $on (call $log (i32.const 1024) (i32.const 0x7fffffff)) (call $log (i32.const 1024) (i32.const 1000)) (br $on)))
      ;; reading what it has no business to
      (return (call $read (i32.const 0) (i32.const 0) (local.get $dst) (local.get $room))))
      ;; short
      (return (i32.const 0)))
      ;; hoarding: memory that stays
      (drop (memory.grow (i32.const 16))) (memory.copy (local.get $dst) (local.get $src) (local.get $n)) (return (local.get $n)))
      ;; copy: writes all over its memory, what the host knows of it too
      (memory.fill (i32.const 0) (i32.const 0xff) (i32.shl (memory.size) (i32.const 16))) (return (local.get $room)))
      ;; reentry: calls its own exports
      (call $reset) (drop (call $alloc (i32.const 0x7fffffff))) (return (local.get $n)))
  (func $reset (global.set $top (i32.const 0xfffffff0)))
  (func $alloc (param i32) (result i32) (global.set $top (i32.add (global.get $top) (local.get 0))) (global.get $top))
)
