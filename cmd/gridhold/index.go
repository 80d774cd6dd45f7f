package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func newIndex(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "index",
		Short: "Gather the shard indexes of an array into one small file",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(newIndexBuild(g))
	return c
}

func newIndexBuild(g *globals) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "build URL",
		Short: "Write an index pack of an array, or of every level of a pyramid",
		Long: `Write an index pack: the indexes of all shards of an array, of every level of a
pyramid, or of all arrays of a group. With it, "read --index PACK" needs one
request for any subchunk. A shard that is replaced later is noticed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if g.engine != "native" {
				return usagef("index build goes with --engine native")
			}
			s, err := open(c.Context(), g, args[0])
			if err != nil {
				return failed(args[0], err)
			}
			defer func() { err = errors.Join(err, failed(args[0], s.Close())) }()
			if s.store == nil {
				return failed(args[0], fault.New(fault.ErrUnsupported, "index", "", "want an array or group of Zarr"))
			}
			p, named := newProgress(c.ErrOrStderr()), ""
			pack, err := zarr.BuildIndexPack(c.Context(), s.store, s.path, zarr.Options{}, func(done zarr.Packed) {
				if name := "/" + done.Array; name != named {
					if named != "" {
						p.end()
					}
					named = name
					p.begin(name)
				}
				p.step(zarr.Copied{Chunks: done.Seen, Total: done.Shards})
			})
			if named != "" {
				p.end()
			}
			if err != nil {
				return failed(args[0], err)
			}
			out, err := create(file, c.OutOrStdout())
			if err != nil {
				return failed(file, err)
			}
			_, err = out.Write(pack.Bytes())
			return out.close(err)
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`, which appears when it is whole")
	return c
}
