package main

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
)

// output is where data goes: standard output, or a file that appears under
// its name only when it is whole.
type output struct {
	io.Writer
	file *os.File // nil: standard output
	name string   // that file gets in the end
}

// create opens the output of -o. "" and "-" are standard output. A name that
// is a device or a pipe is written to as it stands.
func create(name string, stdout io.Writer) (*output, error) {
	if name == "" || name == "-" {
		return &output{Writer: stdout}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &output{Writer: f, file: f, name: name}, err
	}
	// What a link leads to is what is replaced. One that leads nowhere yet is
	// replaced itself.
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	// A sibling, so that the rename stays within one file system; opened
	// with the modes of any new file, which os.CreateTemp does not give.
	f, err := os.OpenFile(sibling(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return &output{Writer: f, file: f, name: name}, err
}

// sibling is a new name beside another, on the same file system.
func sibling(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:8])
}

// close gives the file its name if writing went well, and removes it
// otherwise.
func (o *output) close(err error) error {
	if o.file == nil {
		return err
	}
	if closeErr := o.file.Close(); err == nil {
		err = failed(o.name, closeErr)
	}
	if o.file.Name() == o.name {
		return err
	}
	if err == nil {
		err = failed(o.name, os.Rename(o.file.Name(), o.name))
	}
	if err != nil {
		os.Remove(o.file.Name()) // nothing better to do if that fails too
	}
	return err
}
