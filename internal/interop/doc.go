// Package interop holds the tests of Gridhold against the libraries that it has
// to agree with, its peers: those of Zarr, and python-blosc2. What it writes
// they read, what they write it reads, over tables of types, codecs and
// layouts; and of writers that are killed or meet. There is nothing in it to
// import.
//
// scripts/peers.sh installs the peers, and make test calls it. Without them
// those tests are skipped, unless REQUIRE_PEERS=1 is set. Each peer is a
// process that answers requests, one a line; see peers/protocol.py.
package interop
