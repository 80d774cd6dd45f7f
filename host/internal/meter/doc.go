// Package meter makes wasm modules that cannot run for ever, nor fill the
// host's stack: a pass over the bytes of a module that counts what it does.
//
// The pass adds a counter, a global that the module's own code has no index
// for. Each function takes from it what one run of it may cost but for the
// loops in it, and each loop every few turns what the next ones may;
// operations on ranges of memory and tables take their length. When nothing
// is left, the host is asked for more through a function that the pass
// imports, and refuses by a panic:
//
//	func:  counter -= cost; if counter < 0 { counter = refuel(counter) }
//	       loop
//	         a turn, four times in a row if it is short
//	         counter -= cost of as many turns; if counter < 0 { … }
//	       end
//	       counter -= length/16; if counter < 0 { … }
//	       memory.copy
//
// The first turns are paid for by what is around the loop, so that loops of
// few turns cost nothing more, and small functions by those who call them.
//
// Functions that may call themselves, over however many others, also take the
// size of their frame from a second counter and give it back as they return.
//
// wazero can interrupt modules too, by asking in each turn of each loop: see
// [github.com/tetratelabs/wazero.RuntimeConfig.WithCloseOnContextDone]. A
// module that the pass cannot walk ([fault.ErrUnsupported]) is left to that.
package meter
