//go:build !gridhold_guest

package image

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// STARWriter writes the tables of a STAR file, one after another, as
// [STARScanner] reads them. The first error is that of every later call. Not
// for concurrent use.
//
// Values are written plainly where that can be, else quoted, else as text
// between lines that begin with a semicolon: any value comes back as it was,
// but for those that have no place in the format. ErrInvalid for these: a line
// that begins with a semicolon within the text of several, or ends in a
// carriage return.
type STARWriter struct {
	w       *bufio.Writer
	labels  int // of the loop that rows are written to; 0: there is none
	begun   bool
	line    []byte // the row that is being written
	started bool   // the line has a value
	err     error
}

// NewSTARWriter returns a writer to w, whose last bytes are written by Flush.
// See [WriteSTAR] for a file that is never there by halves.
func NewSTARWriter(w io.Writer) *STARWriter {
	return &STARWriter{w: bufio.NewWriterSize(w, 1<<17)}
}

// WriteSTAR writes the STAR file name by what write does. The file is there
// once all of it lies on the disk; whatever happens before, a failure or the
// end of the program, what had that name keeps it. A program that is killed
// leaves a file behind whose name has ".tmp" at the end.
//
// Errors are those of write, of STARWriter and of the file system.
func WriteSTAR(ctx context.Context, fs storage.FS, name string, write func(w *STARWriter) error) (err error) {
	temporary := name + "." + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
	f, err := fs.Open(ctx, temporary, storage.OpenRead|storage.OpenWrite|storage.OpenCreate|storage.OpenExclusive)
	if err != nil {
		return err
	}
	renamed := false
	defer func() { // also when write panics
		err = errors.Join(err, f.Close())
		if !renamed {
			err = errors.Join(err, fs.Remove(context.WithoutCancel(ctx), temporary))
		}
	}()
	w := NewSTARWriter(io.NewOffsetWriter(f, 0))
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil { // not every system renames what is open
		return err
	}
	if err := fs.Rename(ctx, temporary, name); err != nil {
		return err
	}
	renamed = true
	dir, _ := path.Split(name)
	if err := fs.SyncDir(ctx, strings.TrimSuffix(dir, "/")); !errors.Is(err, fault.ErrUnsupported) {
		return err
	}
	return nil
}

// Comment writes a line for those who look at the file. RELION from 3.1 on
// takes a table for one of its own time by "version 30001" in front of it.
func (w *STARWriter) Comment(text string) error {
	if strings.ContainsAny(text, "\r\n") {
		return w.fail(fault.ErrInvalid, "a comment of several lines")
	}
	return w.put("# " + text + "\n")
}

// Loop begins a table of rows, in a block of its own. ErrInvalid for no
// labels, more than 4096, or one that is empty, has blanks or comes twice.
func (w *STARWriter) Loop(block string, labels ...string) error {
	if !w.block(block, labels) {
		return w.err
	}
	w.put("loop_\n")
	for i, l := range labels {
		w.put("_" + l + " #" + strconv.Itoa(i+1) + "\n")
	}
	w.labels = len(labels)
	return w.err
}

// Row writes a row of the loop that was begun last: a value for each label,
// ErrInvalid otherwise. ErrLimit for one of more than 1 MiB.
func (w *STARWriter) Row(values ...string) error { return writeRow(w, values) }

// RowBytes is Row of what [STARScanner.Values] gives.
func (w *STARWriter) RowBytes(values [][]byte) error { return writeRow(w, values) }

// List writes a table of one row in a block of its own: a label and a value a
// line. Errors are those of Loop and Row.
func (w *STARWriter) List(block string, labels, values []string) error {
	if !w.block(block, labels) {
		return w.err
	}
	if len(labels) != len(values) {
		return w.fail(fault.ErrInvalid, strconv.Itoa(len(values))+" values for "+strconv.Itoa(len(labels))+" labels")
	}
	size := 0
	for i, l := range labels {
		w.line, w.started = append(append(w.line[:0], '_'), l...), true
		if err := w.value(values[i]); err != nil {
			return err
		}
		if size += len(values[i]); size > starLine {
			return w.fail(fault.ErrLimit, "values of more than 1 MiB")
		}
		if err := w.end(); err != nil {
			return err
		}
	}
	return w.err
}

// Flush writes what has not been written yet, and returns the first error.
func (w *STARWriter) Flush() error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// block begins a block for a table of some labels.
func (w *STARWriter) block(name string, labels []string) bool {
	switch {
	case strings.ContainsAny(name, starBlanks+"\n"):
		w.fail(fault.ErrInvalid, "a block of the name "+brief([]byte(name)))
	case len(labels) == 0 || len(labels) > starLabels:
		w.fail(fault.ErrInvalid, strconv.Itoa(len(labels))+" labels")
	}
	sorted := slices.Sorted(slices.Values(labels))
	for i, l := range sorted {
		if l == "" || strings.ContainsAny(l, starBlanks+"\n") || i > 0 && sorted[i-1] == l {
			w.fail(fault.ErrInvalid, "the label "+brief([]byte(l)))
		}
	}
	blank := ""
	if w.begun {
		blank = "\n"
	}
	w.begun, w.labels = true, 0
	return w.put(blank+"data_"+name+"\n\n") == nil
}

func writeRow[T string | []byte](w *STARWriter, values []T) error {
	if w.err == nil && (len(values) != w.labels || w.labels == 0) {
		return w.fail(fault.ErrInvalid, strconv.Itoa(len(values))+" values for "+strconv.Itoa(w.labels)+" labels")
	}
	w.line, w.started = w.line[:0], false
	for _, v := range values {
		if err := w.value(string(v)); err != nil {
			return err
		}
	}
	return w.end()
}

// value appends a value to the line.
func (w *STARWriter) value(v string) error {
	quote, text := starQuote(v, w.started)
	switch {
	case !text:
		if w.started {
			w.line = append(w.line, ' ')
		}
		w.line = append(append(append(w.line, quote...), v...), quote...)
	case strings.Contains(v, "\n;"), strings.Contains(v, "\r\n"), strings.HasSuffix(v, "\r"):
		return w.fail(fault.ErrInvalid, "a value that the format has no place for: "+brief([]byte(v)))
	default:
		if w.started {
			w.line = append(w.line, '\n')
		}
		w.line = append(append(append(w.line, ';'), v...), "\n;"...)
	}
	if w.started = true; len(w.line) >= starLine {
		return w.fail(fault.ErrLimit, "a row of more than 1 MiB")
	}
	return w.err
}

// end writes the line.
func (w *STARWriter) end() error {
	if w.err == nil {
		_, w.err = w.w.Write(append(w.line, '\n'))
	}
	return w.err
}

// starQuote returns what a value is to stand between; text if that is not
// possible in a line. The first value of one must not look like something else.
func starQuote(v string, started bool) (quote string, text bool) {
	if strings.IndexByte(v, '\n') >= 0 {
		return "", true
	}
	// Some readers take a "#" for a comment wherever it stands.
	if v != "" && !strings.ContainsAny(v, starBlanks+"#") && v[0] != '\'' && v[0] != '"' &&
		(started || v[0] != ';' && v[0] != '_' && !starReserved(v)) {
		return "", false
	}
	for _, q := range []string{`"`, `'`} {
		if !strings.Contains(v, q) {
			return q, false
		}
	}
	// A quote ends only where a blank follows it.
	for _, q := range []string{`"`, `'`} {
		ends := false
		for _, blank := range starBlanks {
			ends = ends || strings.Contains(v, q+string(blank))
		}
		if !ends {
			return q, false
		}
	}
	return "", true
}

// starReserved reports whether a value looks like a word of the format.
func starReserved(v string) bool {
	for _, word := range []string{"data_", "loop_", "save_", "stop_", "global_"} {
		if starIs([]byte(v[:min(len(v), len(word))]), word) {
			return true
		}
	}
	return false
}

func (w *STARWriter) put(text string) error {
	if w.err == nil {
		_, w.err = w.w.WriteString(text)
	}
	return w.err
}

func (w *STARWriter) fail(kind error, why string) error {
	if w.err == nil {
		w.err = fault.New(kind, "star", "", why)
	}
	return w.err
}
