package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/bindings/js/viewer"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/native/server"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

func newServe(g *globals) *cobra.Command {
	var address, origin string
	var watchers, connections int
	var bare bool
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a directory to browsers and other clients, with a page that shows what is in it",
		Long: `Serve the files of a directory over HTTP: ranges, tags, listings as JSON, changes of containers as events. Browsers get
a page that shows arrays, pyramids, containers and stacks of images. Clients can read, no more, and nothing outside of DIR.

The server listens to this machine only, unless --listen says otherwise; but any web page that is open in a browser here may
read what it serves, as pages that show arrays have to. --origin names the one whose pages may, or none.

DIR may also be a URL (http, s3, zip): what is there is passed on. It ends with an interrupt, which is no failure, after it
has answered what it was asked.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			o := server.Options{AllowOrigin: origin, Watchers: watchers, Open: blosc2.Options{Locking: locking()}}
			if !bare {
				o.Page = viewer.Files()
			}
			if origin != "*" {
				o.Hosts = []string{} // see there: else any page could pass for one of its origin
				if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
					o.Hosts = append(o.Hosts, host)
				}
			}
			store, closeStore, err := served(c.Context(), args[0], &o)
			if err != nil {
				return failed(args[0], err)
			}
			defer func() { err = errors.Join(err, failed(args[0], closeStore())) }()
			l, err := net.Listen("tcp", address)
			if err != nil {
				return failed(address, err)
			}
			if err := announce(c, g, l.Addr(), args[0]); err != nil {
				return errors.Join(err, l.Close())
			}
			return failed(address, server.Serve(c.Context(), l, server.New(store, o), server.Limits{Connections: connections}))
		},
	}
	f := c.Flags()
	f.StringVar(&address, "listen", "127.0.0.1:8000", "`address:port`; port 0: one that is free")
	f.StringVar(&origin, "origin", "*", "the `origin` whose pages may read, as https://example.org; *: any; none: the server's own page only")
	f.IntVar(&watchers, "watchers", 64, "how many containers may be followed at once")
	f.IntVar(&connections, "connections", 256, "how many connections there may be at once; others wait")
	f.BoolVar(&bare, "bare", false, "without the page")
	return c
}

// served opens what is to be served; a directory also as files, whose changes
// can be followed.
func served(ctx context.Context, name string, o *server.Options) (storage.Store, func() error, error) {
	store, closer, err := openURL(ctx, name, nil)
	if err != nil {
		return nil, nil, err
	}
	dir, ok := onThisMachine(name)
	if !ok {
		return store, closer.Close, nil
	}
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	o.Files = fs
	return store, func() error { return errors.Join(fs.Close(), closer.Close()) }, nil
}

// announce says where the server is, in one line.
func announce(c *cobra.Command, g *globals, at net.Addr, name string) error {
	url := "http://" + at.String() + "/"
	if strings.HasPrefix(url, "http://[::]:") || strings.HasPrefix(url, "http://0.0.0.0:") { // of which no browser knows
		url = "http://localhost" + url[strings.LastIndexByte(url, ':'):]
	}
	line := url + "\n"
	if g.json {
		text, err := json.Marshal(map[string]string{"url": url, "serves": withoutSecrets(name)})
		if err != nil {
			return err
		}
		line = string(text) + "\n"
	}
	_, err := fmt.Fprint(c.OutOrStdout(), line)
	return err
}
