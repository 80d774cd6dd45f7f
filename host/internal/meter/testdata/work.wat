;; What the pass has to leave as it is: wat2wasm work.wat
(module
  (type $pair (func (param i32) (result i32 i64)))
  (import "test" "twice" (func $twice (param i32) (result i32)))
  (memory (export "memory") 1 4)
  (table $t 4 8 funcref)
  (global $g (mut i32) (i32.const 7))
  (elem (table $t) (i32.const 0) func $leaf $fib $even)
  (elem $passive func $odd $leaf)
  (data $text "0123456789abcdef")
  (func $leaf (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
  (func $fib (export "fib") (param i32) (result i32)
    (if (i32.lt_u (local.get 0) (i32.const 2)) (then (return (local.get 0))))
    (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))
  (func $even (export "even") (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 1)) (else (call $odd (i32.sub (local.get 0) (i32.const 1))))))
  (func $odd (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0)) (else (call $even (i32.sub (local.get 0) (i32.const 1))))))
  (func $pair (type $pair)
    (loop (result i32 i64)
      (br_if 1 (local.get 0) (i64.const -1) (i32.gt_u (local.get 0) (i32.const 1000)))
      (drop) (drop)
      (local.set 0 (i32.add (local.get 0) (local.get 0)))
      (br 0)))
  ;; Two results, loops with parameters, all ways out of a function.
  (func (export "mixed") (param $n i32) (result i64) (local $i i32) (local $sum i64)
    (local.get $n)
    (loop $next (param i32) (result i32)
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (call $twice (call $leaf (local.get $i))))))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (drop)
    (call $pair (i32.add (local.get $n) (i32.const 1)))
    local.get $sum
    i64.add
    local.set $sum
    i64.extend_i32_u
    local.get $sum
    i64.add
    local.set $sum
    (block $three (result i64)
      (block $five (result i64)
        (br_table $five $three 2 (local.get $sum) (i32.and (local.get $n) (i32.const 3))))
      i64.const 5
      i64.sub
      return)
    i64.const 3
    i64.mul)
  ;; Ranges of memory and tables, calls through a table.
  (func (export "ranges") (param $n i32) (result i32) (local $i i32)
    (memory.init $text (i32.const 0) (i32.const 0) (i32.const 16))
    (loop $more
      (memory.copy (i32.add (i32.const 16) (local.get $i)) (local.get $i) (local.get $n))
      (memory.fill (i32.const 32768) (local.get $i) (local.get $n))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 64))))
    (drop (table.grow $t (ref.func $odd) (i32.const 2)))
    (drop (table.grow $t (ref.null func) (i32.const 100)))
    (table.init $t $passive (i32.const 3) (i32.const 0) (i32.const 1))
    (table.copy (i32.const 4) (i32.const 0) (i32.const 2))
    (table.fill $t (i32.const 5) (ref.func $leaf) (i32.const 1))
    (global.set $g (i32.add (global.get $g) (i32.load8_u (i32.const 77))))
    (i32.add (global.get $g)
      (i32.add (i32.add (call_indirect (param i32) (result i32) (i32.const 9) (i32.const 3))
                        (call_indirect (param i32) (result i32) (i32.const 9) (i32.const 5)))
               (i32.mul (i32.load8_u (i32.const 32770)) (table.size $t)))))
  (func (export "endless") (loop (br 0)))
  (func (export "bottomless") (param i32) (result i32) (call $down (local.get 0)))
  (func $down (param i32) (result i32) (i32.add (i32.const 1) (call $down (i32.add (local.get 0) (i32.const 1)))))
)
