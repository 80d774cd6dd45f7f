;; Spells an instruction so that wazero reads another one than the pass would: build.sh
;; puts a 0 where i16x8.abs has a 1. What the pass cannot read, it leaves to wazero.
(module
  (memory (export "memory") 1)
  (data (i32.const 1024) "{\"name\":\"h\",\"codecs\":[{\"names\":[\"hostile\"]}]}")
  (func (export "gp_abi") (result i32) (i32.const 0x10000))
  (func (export "gp_alloc") (param i32) (result i32) (i32.const 8192))
  (func (export "gp_reset"))
  (func (export "gp_about") (param i32) (result i32) (i32.store (local.get 0) (i32.const 1024)) (i32.store (i32.add (local.get 0) (i32.const 4)) (i32.const 45)) (i32.const 0))
  (func (export "gp_decode") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
    (if (i32.eq (i32.load8_u (local.get 3)) (i32.const 7)) (then (drop (i16x8.abs (v128.const i64x2 1 2)))))
    (loop $ever (br_if $ever (i32.load8_u (local.get 3))))
    (i32.const 0)))
