package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/host/plugin"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// pluginFlags are those that name plugins and what they may do.
type pluginFlags struct {
	files  []string
	grants []string
}

// withPlugins gives a command the flags of plugins.
func withPlugins(g *globals, c *cobra.Command) *cobra.Command {
	f := c.Flags()
	f.StringArrayVar(&g.plugin.files, "plugin", nil, "`FILE` of a plugin whose codecs and readers are used; may be given more than once")
	f.StringSliceVar(&g.plugin.grants, "grant", nil, "`wasi,keys`: what plugins may have beyond the bytes that they are given; see plugin check")
	return c
}

// open opens the plugins.
func (f pluginFlags) open(ctx context.Context) (set plugin.Set, err error) {
	o := plugin.Options{}
	if o.Grants, err = f.granted(); err != nil {
		return nil, err
	}
	for _, name := range f.files {
		p, err := openPlugin(ctx, name, o)
		if err != nil {
			return nil, errors.Join(failed(name, err), set.Close())
		}
		set = append(set, p)
	}
	return set, nil
}

func (f pluginFlags) granted() (g plugin.Grants, err error) {
	for _, name := range f.grants {
		switch name {
		case "wasi":
			g.WASI = true
		case "keys":
			g.Keys = true
		default:
			return g, usagef("--grant %s: want wasi or keys", name)
		}
	}
	return g, nil
}

func openPlugin(ctx context.Context, name string, o plugin.Options) (*plugin.Plugin, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	wasm, err := io.ReadAll(io.LimitReader(f, plugin.DefaultModule+1))
	if err != nil {
		return nil, err
	}
	return plugin.Open(ctx, wasm, o)
}

// codecs are those of the plugins; nil: there are none.
func (g *globals) codecs() zarr.CodecSource {
	if len(g.plugins) == 0 {
		return nil
	}
	return g.plugins
}

// openByReader opens the object that a URL names by a plugin's reader; nil:
// none is for it.
func openByReader(ctx context.Context, g *globals, name string) (*source, error) {
	parent, key, err := apart(name)
	if err != nil {
		return nil, nil // whatever is wrong, the opening of a store says it
	}
	p := g.plugins.Reader(key)
	if p == nil {
		return nil, nil
	}
	st, closer, err := openURL(ctx, parent, g.trace())
	if err != nil {
		return nil, err
	}
	view, err := p.Array(ctx, st, key)
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	e, err := newEngine(ctx, g)
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	return &source{store: view, closer: closer, path: strings.Trim(g.path, "/"), engine: e}, nil
}

func newPlugin(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Other people's codecs and readers, in a sandbox of their own",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(newPluginCheck(g))
	return c
}

func newPluginCheck(g *globals) *cobra.Command {
	var f pluginFlags
	var o plugin.Options
	c := &cobra.Command{
		Use:   "check FILE.wasm",
		Short: "Say what a plugin imports, exports and wants, and try it on its samples",
		Long: `Say what a plugin imports, exports and wants, and try it on the samples that it
comes with, whole and damaged, within limits.

Exit status 1 if it is refused, 3 if it fails its self-test.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Grants, err = f.granted(); err != nil {
				return err
			}
			p, err := openPlugin(c.Context(), args[0], o)
			if err != nil {
				return failed(args[0], err)
			}
			defer func() { err = errors.Join(err, failed(args[0], p.Close())) }()
			found, err := p.Check(c.Context())
			if err != nil {
				return failed(args[0], err)
			}
			return failed(args[0], tellPlugin(c.OutOrStdout(), g.json, p, found))
		},
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.grants, "grant", nil, "`wasi,keys`: functions of WASI that reach nothing; reading other objects of the store than the one to open")
	fl.Int64Var(&o.Memory, "memory", plugin.DefaultMemory, "`bytes` of memory that it may have")
	fl.DurationVar(&o.Deadline, "deadline", plugin.DefaultDeadline, "`time` that one call may take")
	return c
}

// pluginReport is what plugin check prints.
type pluginReport struct {
	Name         string          `json:"name"`
	Version      string          `json:"version,omitempty"`
	Imports      []string        `json:"imports"`
	Exports      []string        `json:"exports"`
	Interruption string          `json:"interruption"`
	Codecs       []pluginCodec   `json:"codecs,omitempty"`
	Reads        []string        `json:"reads,omitempty"` // suffixes
	Checks       []pluginFinding `json:"checks"`
}

type pluginCodec struct {
	Names   []string `json:"names,omitempty"`
	Blosc2  int      `json:"blosc2,omitempty"`
	Encodes bool     `json:"encodes"`
}

type pluginFinding struct {
	What   string `json:"what"`
	Result string `json:"result"` // "ok", "skipped", or what is wrong
}

func tellPlugin(w io.Writer, asJSON bool, p *plugin.Plugin, found []plugin.Finding) error {
	about := p.About()
	how, why := p.Interruption()
	r := pluginReport{Name: about.Name, Version: about.Version, Imports: append([]string{}, p.Imports()...), Exports: p.Exports(), Interruption: how.String()}
	if why != nil {
		r.Interruption += ", since the counter cannot be: " + why.Error()
	}
	for _, c := range about.Codecs {
		r.Codecs = append(r.Codecs, pluginCodec{c.Names, c.Blosc2, c.Encodes})
	}
	if about.Reader != nil {
		r.Reads = about.Reader.Suffixes
	}
	wrong := 0
	for _, f := range found {
		result := "ok"
		switch {
		case f.Err != nil:
			result = f.Err.Error()
			wrong++
		case f.Skipped:
			result = "skipped"
		}
		r.Checks = append(r.Checks, pluginFinding{f.What, result})
	}
	err := r.write(w, asJSON)
	if err == nil && wrong > 0 {
		err = &failure{status: statusDamaged, err: fmt.Errorf("fails %d of %d checks: %w", wrong, len(found), fault.ErrCorrupt)}
	}
	return err
}

func (r pluginReport) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	checks := r.Checks
	r.Checks = nil
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := writeFields(w, text); err != nil {
		return err
	}
	for _, c := range checks {
		if _, err := fmt.Fprintf(w, "%s: %s\n", oneLine(c.What), oneLine(c.Result)); err != nil {
			return err
		}
	}
	return nil
}
