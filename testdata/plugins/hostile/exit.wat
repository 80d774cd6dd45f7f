;; Exits, with the status that its input begins with, or sleeps for ever where that is 255.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "{\"name\":\"h\",\"codecs\":[{\"names\":[\"hostile\"]}]}")
  (func (export "gp_abi") (result i32) (i32.const 0x10000))
  (func (export "gp_alloc") (param i32) (result i32) (i32.const 8192))
  (func (export "gp_reset"))
  (func (export "gp_about") (param i32) (result i32) (i32.store (local.get 0) (i32.const 1024)) (i32.store (i32.add (local.get 0) (i32.const 4)) (i32.const 45)) (i32.const 0))
  (func (export "gp_decode") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
    (if (i32.eq (i32.load8_u (local.get 3)) (i32.const 255))
      (then (i64.store (i32.const 4024) (i64.const 0x7fffffffffffffff)) (loop $ever (drop (call $poll (i32.const 4000) (i32.const 4100) (i32.const 1) (i32.const 4200))) (br $ever))))
    (call $exit (i32.load8_u (local.get 3))) (unreachable)))
