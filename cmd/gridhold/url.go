package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/native/s3"
	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zip"
)

// schemeOf is the scheme of a URL, lower case, and what follows it. A name
// without one is a path.
func schemeOf(name string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return "", name
	}
	return strings.ToLower(scheme), rest
}

// openURL opens a path or a URL as a store. trace is told of requests to
// servers.
func openURL(ctx context.Context, name string, trace storage.Trace) (storage.Store, io.Closer, error) {
	switch scheme, rest := schemeOf(name); scheme {
	case "", "file":
		dir, err := localPath(name)
		if err != nil {
			return nil, nil, err
		}
		st, err := file.Open(dir, file.Options{})
		return st, st, err
	case "http", "https":
		f := web.New(web.Options{})
		return storage.NewHTTP(f, name, storage.HTTPOptions{Clock: web.Clock{}, Trace: trace}), f, nil
	case "s3":
		st, err := s3.Open(ctx, "s3://"+rest, s3.Options{HTTP: storage.HTTPOptions{Trace: trace}})
		return st, st, err
	case "zip":
		return openZip(ctx, rest, trace)
	default:
		return nil, nil, fault.New(fault.ErrUnsupported, "url", scheme+"://", "want a path, file://, http://, https://, s3:// or zip://")
	}
}

// localPath is the path that a name without a scheme, or a file URL, means.
func localPath(name string) (string, error) {
	if scheme, _ := schemeOf(name); scheme == "" {
		return name, nil
	}
	u, err := url.Parse(name)
	if err != nil || u.Host != "" && u.Host != "localhost" {
		return "", fault.New(fault.ErrInvalid, "url", "", "want file:///path")
	}
	return filepath.FromSlash(u.Path), nil
}

// openZip opens the archive that a path or a URL names.
func openZip(ctx context.Context, name string, trace storage.Trace) (storage.Store, io.Closer, error) {
	parent, key, err := apart(name)
	if err != nil {
		return nil, nil, err
	}
	inner, closer, err := openURL(ctx, parent, trace)
	if err != nil {
		return nil, nil, err
	}
	st, err := zip.Open(ctx, inner, key, zip.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	return st, closer, nil
}

// apart takes the name of an object apart into that of a store and the
// object's key in it.
func apart(name string) (store, key string, err error) {
	store, key, err = cutKey(name)
	if err == nil && !storage.ValidKey(key) {
		err = fault.New(fault.ErrInvalid, "url", "", "names no object")
	}
	return store, key, err
}

func cutKey(name string) (store, key string, err error) {
	switch scheme, rest := schemeOf(name); scheme {
	case "", "file":
		where, err := localPath(name)
		if err != nil {
			return "", "", err
		}
		if where, err = filepath.Abs(where); err != nil {
			return "", "", err
		}
		return filepath.Dir(where), filepath.Base(where), nil
	case "s3":
		i := strings.LastIndexByte(rest, '/')
		if i < 0 {
			return "", "", fault.New(fault.ErrInvalid, "s3", "", "want s3://bucket/key")
		}
		return "s3://" + rest[:i], rest[i+1:], nil
	case "zip":
		return "", "", fault.New(fault.ErrUnsupported, "url", "zip://", "an archive within an archive")
	}
	u, err := url.Parse(name)
	if err != nil || path.Base(u.Path) == "/" || path.Base(u.Path) == "." {
		return "", "", fault.New(fault.ErrInvalid, "url", "", "names no object")
	}
	key = path.Base(u.Path)
	u.Path, u.RawPath = strings.TrimSuffix(path.Dir(u.Path), "/"), ""
	return u.String(), key, nil
}
