;; A reader that goes by the first letter of the key: each breaks the contract
;; in a way of its own, but for "r", an array of four bytes.
(module
  (import "gridhold_plugin" "read" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 8192))
  (global $calls (mut i32) (i32.const 0))
  (data (i32.const 1024) "{\"name\":\"hostile\",\"reader\":{\"suffixes\":[\".bad\"]}}")
  (data (i32.const 2048) "{\"shape\":[4],\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4]}},\"codecs\":[{\"name\":\"bytes\"}],\"fill_value\":0}")
  (data (i32.const 2560) "{\"shape\":[4611686018427387904,4],\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4,4]}},\"codecs\":[{\"name\":\"bytes\"}],\"fill_value\":0}")
  (data (i32.const 3072) "{\"zarr_format\":2}")
  (data (i32.const 3328) "../../secret")
  (func (export "gp_abi") (result i32) (i32.const 0x10000))
  (func $alloc (export "gp_alloc") (param i32) (result i32) (local $at i32)
    (local.set $at (global.get $top))
    (global.set $top (i32.add (global.get $top) (i32.and (i32.add (local.get 0) (i32.const 15)) (i32.const -16))))
    (local.get $at))
  (func (export "gp_reset") (global.set $top (i32.const 8192)))
  (func (export "gp_about") (param i32) (result i32) (call $two (local.get 0) (i32.const 1024) (i32.const 49)))
  (func $two (param $out i32) (param $at i32) (param $len i32) (result i32)
    (i32.store (local.get $out) (local.get $at))
    (i32.store (i32.add (local.get $out) (i32.const 4)) (local.get $len))
    (i32.const 0))
  (func (export "gp_describe") (param $key i32) (param $key_len i32) (param $lo i32) (param $hi i32) (param $out i32) (result i32) (local $c i32)
    (local.set $c (i32.load8_u (local.get $key)))
    ;; the letter is the state
    (i32.store8 (i32.const 4000) (local.get $c))
    (drop (call $two (i32.add (local.get $out) (i32.const 8)) (i32.const 4000) (i32.const 1)))
    (drop (call $two (local.get $out) (i32.const 2048) (i32.const 144)))
    (if (i32.eq (local.get $c) (i32.const 0x65)) ;; e: asks for ever
      (then (loop $ever (drop (call $read (i32.const 0) (i32.const 0) (i32.const 60000) (i32.const 1))) (br $ever))))
    (if (i32.eq (local.get $c) (i32.const 0x6d)) ;; m: reads more than it may
      (then (loop $ever (br_if $ever (i32.ge_s (call $read (i32.const 0x10000) (i32.const 0) (i32.const 8192) (i32.const 57344)) (i32.const 0))) (return (i32.const -7)))))
    (if (i32.eq (local.get $c) (i32.const 0x77)) ;; w: reads to wild places
      (then (return (call $read (i32.const 0) (i32.const 0) (i32.const 0xfffffff0) (i32.const 32)))))
    (if (i32.eq (local.get $c) (i32.const 0x6e)) ;; n: reads from before the start
      (then (return (call $read (i32.const 0) (i32.const 0x80000000) (i32.const 8192) (i32.const 32)))))
    (if (i32.eq (local.get $c) (i32.const 0x68)) ;; h: a huge array
      (then (drop (call $two (local.get $out) (i32.const 2560) (i32.const 166)))))
    (if (i32.eq (local.get $c) (i32.const 0x7a)) ;; z: no description
      (then (drop (call $two (local.get $out) (i32.const 3072) (i32.const 17)))))
    (if (i32.eq (local.get $c) (i32.const 0x6f)) ;; o: a description outside its memory
      (then (drop (call $two (local.get $out) (i32.const 0xffff) (i32.const 2)))))
    (if (i32.eq (local.get $c) (i32.const 0x6c)) ;; l: one that is too long
      (then (drop (call $two (local.get $out) (i32.const 0) (i32.const 0xffffffff)))))
    (if (i32.eq (local.get $c) (i32.const 0x61)) ;; a: not found, though it is there
      (then (return (i32.const -1))))
    (i32.const 0))
  (func $range (param $out i32) (param $off i64) (param $len i64) (result i32)
    (i64.store (i32.const 5000) (local.get $off))
    (i64.store (i32.const 5008) (local.get $len))
    (drop (call $two (local.get $out) (i32.const 5000) (i32.const 16)))
    (call $two (i32.add (local.get $out) (i32.const 8)) (i32.const 0) (i32.const 0)))
  (func (export "gp_chunk") (param $state i32) (param $len i32) (param $index i32) (param $axes i32) (param $out i32) (result i32) (local $c i32)
    (local.set $c (i32.load8_u (local.get $state)))
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.eq (local.get $c) (i32.const 0x62)) ;; b: behind the end
      (then (return (call $range (local.get $out) (i64.const 2) (i64.const 4)))))
    (if (i32.eq (local.get $c) (i32.const 0x76)) ;; v: over the end of numbers
      (then (return (call $range (local.get $out) (i64.const 0x7fffffffffffffff) (i64.const 0x7fffffffffffffff)))))
    (if (i32.eq (local.get $c) (i32.const 0x6b)) ;; k: in another object
      (then (drop (call $range (local.get $out) (i64.const 0) (i64.const 4)))
        (return (call $two (i32.add (local.get $out) (i32.const 8)) (i32.const 3328) (i32.const 12)))))
    (if (i32.eq (local.get $c) (i32.const 0x74)) ;; t: too few bytes
      (then (return (call $range (local.get $out) (i64.const 0) (i64.const 3)))))
    (if (i32.eq (local.get $c) (i32.const 0x66)) ;; f: half a range
      (then (drop (call $range (local.get $out) (i64.const 0) (i64.const 4))) (drop (call $two (local.get $out) (i32.const 5000) (i32.const 15))) (return (i32.const 0))))
    (if (i32.eq (local.get $c) (i32.const 0x67)) ;; g: a chunk that is not there
      (then (drop (call $range (local.get $out) (i64.const 0) (i64.const 4))) (drop (call $two (local.get $out) (i32.const 0) (i32.const 0))) (return (i32.const 0))))
    (if (i32.eq (local.get $c) (i32.const 0x63)) ;; c: another place each time
      (then (return (call $range (local.get $out) (i64.extend_i32_u (i32.rem_u (global.get $calls) (i32.const 3))) (i64.const 2)))))
    (call $range (local.get $out) (i64.const 0) (i64.const 4)))
)
