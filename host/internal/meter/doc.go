// Package meter makes wasm modules that cannot run for ever, nor fill the
// host's stack: a pass over the bytes of a module that counts what it does.
//
// The pass adds a counter, a global that the module's own code has no index
// for. Each function and each turn of a loop takes from it what it may cost
// until the next one; operations on ranges of memory and tables take their
// length. When nothing is left, the host is asked for more through a function
// that the pass imports, and refuses by a panic:
//
//	            ┌ counter -= cost; if counter < 0 { counter = refuel(counter) }
//	func f:     ┤ block
//	            │   loop
//	            │     counter -= cost of one turn; if counter < 0 { … }
//	            │     …
//	            │     memory.copy, its length taken first
//	            │   end
//	            └ end
//
// Within a function with loops the counter is a local, which is written back
// where the function calls another or returns. A small function without loops
// or calls is paid for by its callers.
//
// Functions that may call themselves, over however many others, also take the
// size of their frame from a second counter and give it back as they return.
//
// wazero can interrupt modules too, by asking in each turn of each loop: see
// [github.com/tetratelabs/wazero.RuntimeConfig.WithCloseOnContextDone]. A
// module that the pass cannot walk ([fault.ErrUnsupported]) is left to that.
package meter
