// Package plugin runs other people's wasm as codecs and readers of the SDK.
//
// A codec is known by the names that Zarr metadata has for it, or by its
// number in Blosc2. A reader makes arrays of a foreign format: it describes
// one in the words of Zarr v3 and tells which bytes of an object are which
// chunk, so that what it opens is a [storage.Store] like any other, with one
// array at its root:
//
//	p, err := plugin.Open(ctx, wasm, plugin.Options{})
//	defer p.Close()
//	a, err := zarr.OpenArray(ctx, store, "", zarr.Options{Codecs: p})       // with its codecs
//	f, err := blosc2.Open(ctx, fs, name, blosc2.Options{Plugins: p.Blosc()})
//	view, err := p.Array(ctx, store, "image.npy")                            // with its reader
//	a, err = zarr.OpenArray(ctx, view, "", zarr.Options{Codecs: p})
//
// A plugin is not trusted. It reaches nothing but what it is granted, within
// a memory and a time of its own; whatever it does ends one instance and
// fails the call that was in it. Its counter is that of package meter; where
// that cannot be, wazero interrupts it, which is slower.
//
// The contract between host and plugin is in docs/abi.md, section "Plugins".
package plugin
