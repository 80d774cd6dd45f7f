// Package server lends what is in a store to others over HTTP: to browsers, to
// Gridhold elsewhere, to any client that knows ranges.
//
//	store, err := file.Open("/data", file.Options{})
//	h := server.New(store, server.Options{})
//	http.ListenAndServe("127.0.0.1:8000", h)      // or Serve, which bounds clients
//
// A Handler only reads. GET and HEAD of a key give the object, GET of a
// prefix that ends in "/" the names below it as JSON, GET of a container with
// the query "events" a stream of what changes in it.
//
// # What a tag stands for
//
// The ETag of an object is strong: a digest of the Version that the store
// gives. For files that is their size, times of modification and change,
// inode and device, so it is another one after every write, and after a copy
// that has the same bytes. Bytes and tag come from one read wherever up to
// 4 MiB are asked for; what is longer is read piece by piece, each of that
// version, and the connection is broken off when the object changes meanwhile. An
// object of a store that knows no versions has no tag.
//
// # What clients can do
//
// Read, no more, and only what the store gives: native/file follows no link
// that leads out. Objects are never sent as a page that a browser would run.
// Any web page may read them, unless Options.AllowOrigin says otherwise. What
// one request can cost is bounded: memory by the first read and a piece,
// ranges by 256, streams of events by Options.Watchers; Serve also bounds
// connections, headers, and how long a client may take over them.
package server
