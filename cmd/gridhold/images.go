package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// images is a file of images, or a table that points at images.
type images struct {
	name  string // as the user gave it
	key   string // of the file itself
	table bool

	// provider opens image files; partial also those that are cut short.
	provider func(partial bool) image.ReaderProvider
	// rows reads the file itself, of a table.
	rows  func(ctx context.Context, each func(image.TableRow) error) (image.TableInfo, error)
	roots []string // of a local table
	// find reports whether there is a file of a name; nil: not local.
	find  func(ctx context.Context, name string) bool
	box   *host.Sandbox // of the engine wasm; nil: native
	under io.Closer
}

// Close closes what the files stand on.
func (m *images) Close() error {
	if m.box != nil {
		return errors.Join(m.box.Close(), m.under.Close())
	}
	return m.under.Close()
}

// open opens an image file.
func (m *images) open(ctx context.Context, key string, partial bool) (image.Reader, error) {
	r, err := m.provider(partial).Open(ctx, key)
	return r, m.own(err)
}

// own takes from an error the name of the file that the user named, which
// stands in front of it anyway.
func (m *images) own(err error) error {
	e := new(fault.Error)
	if !errors.As(err, &e) || e.Item != m.key {
		return err
	}
	if m.box == nil {
		e.Item = ""
		return err
	}
	d := fault.DetailOf(err) // all that is left of it
	d.Item, d.Text = "", strings.Replace(d.Text, ": "+m.key, "", 1)
	return d.Err()
}

var tableExtensions = []string{".star", ".cs", ".lst", ".txt"}

// openImages finds out whether a URL names images. It returns nil for what
// does not.
func openImages(ctx context.Context, g *globals, name string) (*images, error) {
	return openImagesIn(ctx, g, nil, name)
}

// openImagesIn is openImages with a sandbox that is there already, or nil.
func openImagesIn(ctx context.Context, g *globals, box *host.Sandbox, name string) (*images, error) {
	var m *images
	var err error
	if scheme, _ := schemeOf(name); scheme == "" || scheme == "file" {
		m, err = localImages(g, name)
	} else {
		m, err = remoteImages(ctx, g, name)
	}
	if m == nil || err != nil {
		return nil, err
	}
	m.name = name
	if g.path != "" || g.key != "" {
		return nil, errors.Join(usagef("--path and --key do not go with images"), m.Close())
	}
	if m.box = box; box == nil && g.engine == "wasm" {
		m.box, err = newHost(ctx, g.compileCache)
	} else if g.engine != "native" && g.engine != "wasm" {
		err = unknownEngine(g.engine)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// localImages looks at the name, and at the first bytes.
func localImages(g *globals, name string) (*images, error) {
	name, err := localPath(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // whatever is wrong, the opening of a store says it
	}
	ext := strings.ToLower(filepath.Ext(name))
	table := slices.Contains(tableExtensions, ext)
	if !table && !image.NamedMRC(name) && !tagged(name) {
		return nil, nil
	}
	fs, key, err := openMachine(name)
	if err != nil {
		return nil, err
	}
	roots, err := roots(g, fs, path.Dir(key))
	if err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	m := &images{key: "/" + key, table: table, under: fs, roots: roots}
	m.find = func(ctx context.Context, name string) bool {
		_, err := fs.Stat(ctx, name)
		return !errors.Is(err, fault.ErrNotFound)
	}
	m.provider = func(partial bool) image.ReaderProvider {
		o := image.FilesOptions{Roots: roots, MRCOptions: image.MRCOptions{AllowPartial: partial}}
		if m.box != nil {
			return m.box.Images(fs, o)
		}
		return image.Files(fs, o)
	}
	m.rows = func(ctx context.Context, each func(image.TableRow) error) (image.TableInfo, error) {
		if m.box != nil {
			return m.box.ReadTable(ctx, fs, key, m.name, image.TableOptions{}, each)
		}
		f, err := fs.Open(ctx, key, storage.OpenRead)
		if err != nil {
			return image.TableInfo{}, err
		}
		return m.readRows(ctx, f, each)
	}
	return m, nil
}

// tagged reports whether a file has the tag of MRC files.
func tagged(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [4]byte
	_, err = f.ReadAt(b[:], 208)
	return err == nil && (string(b[:]) == "MAP " || string(b[:]) == "MAP\x00")
}

// remoteImages looks at the name only. What a table names is looked for below
// the table's directory, and in it by the paths of --root.
func remoteImages(ctx context.Context, g *globals, name string) (*images, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, nil
	}
	table := slices.Contains(tableExtensions, strings.ToLower(path.Ext(u.Path)))
	if !table && !image.NamedMRC(u.Path) {
		return nil, nil
	}
	parent, base, err := apart(name)
	if err != nil {
		return nil, err
	}
	st, closer, err := openURL(ctx, parent, g.trace())
	if err != nil {
		return nil, err
	}
	o := image.FilesOptions{}
	if g.root != "" {
		o.Roots = []string{strings.Trim(filepath.ToSlash(g.root), "/")}
	}
	m := &images{key: base, table: table, under: closer}
	m.provider = func(partial bool) image.ReaderProvider {
		o := o
		o.AllowPartial = partial
		if m.box != nil {
			return m.box.ImageObjects(st, o)
		}
		return image.Objects(st, o)
	}
	m.rows = func(ctx context.Context, each func(image.TableRow) error) (image.TableInfo, error) {
		if m.box != nil {
			return m.box.ReadTableObject(ctx, st, base, m.name, image.TableOptions{}, each)
		}
		return m.readRows(ctx, storage.FileOf(ctx, st, base), each)
	}
	return m, nil
}

// machineFS is all files of the machine (of a volume, on Windows), under
// their absolute names without the leading "/". A file.FS does not follow
// links that lead out of it, or that are absolute, which those to image files
// are that programs make; so links are resolved before it is asked.
type machineFS struct {
	*file.FS
	root string
}

// openMachine returns the file system that a file lies in, and its name there.
func openMachine(name string) (*machineFS, string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, "", err
	}
	root := filepath.VolumeName(abs) + string(filepath.Separator)
	fs, err := file.OpenFS(root)
	if err != nil {
		return nil, "", err
	}
	return &machineFS{fs, root}, filepath.ToSlash(strings.TrimPrefix(abs, root)), nil
}

func (m *machineFS) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	return m.FS.Open(ctx, m.resolve(name), flags)
}

func (m *machineFS) Stat(ctx context.Context, name string) (storage.FileInfo, error) {
	return m.FS.Stat(ctx, m.resolve(name))
}

// resolve follows links. A name that leads nowhere stays as it is.
func (m *machineFS) resolve(name string) string {
	real, err := filepath.EvalSymlinks(m.root + filepath.FromSlash(name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(strings.TrimPrefix(real, m.root))
}

// roots returns where relative paths of a table begin: in --root, or else in
// the working directory, the table's directory and those above it, the first
// that has the file.
func roots(g *globals, fs *machineFS, dir string) ([]string, error) {
	from := g.root
	if from == "" {
		from = "."
	}
	abs, err := filepath.Abs(from)
	if err != nil {
		return nil, err
	}
	first := filepath.ToSlash(strings.TrimPrefix(abs, fs.root))
	if g.root != "" {
		return []string{first}, nil
	}
	return append([]string{first}, image.Ancestors(dir)...), nil
}
