package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/host/plugin"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// globals are the flags of every command.
type globals struct {
	engine       string
	json         bool
	path         string
	key          string
	root         string
	compileCache string
	index        string
	explain      bool
	plugin       pluginFlags
	plugins      plugin.Set    // those of the flags, once open has opened them
	cost         storage.Tally // with explain
	inside       storage.Cost  // what the sandbox adds to that
}

func newRoot() *cobra.Command {
	g := new(globals)
	root := &cobra.Command{
		Use:   "gridhold",
		Short: "Look into big arrays: what they are, single blocks of them, whether they are whole",
		Long: `Look into big arrays: what they are, single blocks of them, whether they are whole.

A URL is a path, file://, http(s)://, s3:// or zip:// with a path or URL of an archive. It names a Zarr array or group,
a Blosc2 container, a stack of images (MRC) or a table of images (STAR, .cs);
--path leads on from there to a node inside the group,
--key to what lies under a key of a store.

Exit status: 0 fine, 1 failed, 2 wrong usage, 3 found damage.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	f := root.PersistentFlags()
	f.StringVar(&g.engine, "engine", "native", "`native|wasm`: run the core as machine code, or in its sandbox; the output is the same")
	f.BoolVar(&g.json, "json", false, "print descriptions as JSON")
	f.StringVar(&g.path, "path", "", "node inside the group that URL names")
	f.StringVar(&g.key, "key", "", "key inside the Blosc2 store that URL names")
	f.StringVar(&g.root, "root", "", "`directory` that the paths in a table of images begin in; else the first that has the file: the working directory, the table's, those above it")
	f.StringVar(&g.compileCache, "compile-cache", "auto", "`directory` for the compiled sandbox; auto: the user's cache directory; none")
	root.AddCommand(withPlugins(g, newInfo(g)), withPlugins(g, newRead(g)), withPlugins(g, newVerify(g)), newRepair(g), newList(g), withPlugins(g, newCopy(g)), newIndex(g), newScratch(g), newWatch(g), withStdio(newLock()), newServe(g), newPlugin(g))
	return root
}

// command makes a subcommand that takes one URL. do gets the opened source;
// its error is told with the URL in front.
func command(g *globals, name, short, long string, do func(ctx context.Context, c *cobra.Command, s *source) error) *cobra.Command {
	return &cobra.Command{
		Use:   name + " URL",
		Short: short,
		Long:  long,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			s, err := open(c.Context(), g, args[0])
			if name == "verify" && errors.Is(err, fault.ErrCorrupt) { // which is what was asked for
				s, err = &source{engine: machine{}, damage: err}, nil
			}
			if err != nil {
				return failed(args[0], err)
			}
			defer func() {
				if closeErr := s.Close(); err == nil {
					err = failed(args[0], closeErr)
				}
			}()
			return failed(args[0], do(c.Context(), c, s))
		},
	}
}
