// Package proof holds what long runs counted: fuzzing, model checks, torture,
// load. Programs write one file each below docs/proof; docs/proof.md is made
// of all of them.
package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Record is what one run counted. Its members are those of
// docs/proof/README.md.
type Record struct {
	What    string           `json:"what"`
	When    time.Time        `json:"when"`
	Command string           `json:"command"`
	Machine string           `json:"machine,omitempty"`
	Counts  map[string]int64 `json:"counts"`
	Found   []string         `json:"found"`
}

// never are the counts of what must not happen.
var never = []string{"lost", "torn", "duplicated", "wrong", "panics", "leaks", "hangs"}

// Never reports whether a count of that name has to be zero.
func Never(name string) bool { return slices.Contains(never, name) }

// Sum reports whether counts of that name make sense added up over runs: an
// extreme or a median does not.
func Sum(name string) bool {
	return !slices.ContainsFunc(strings.Fields(name), func(word string) bool {
		return slices.Contains([]string{"largest", "longest", "most", "least", "median"}, word)
	})
}

// Machine says what this is run on, without names: "linux/amd64, 2 cores".
func Machine() string {
	return fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// Check tells what a record lacks, or that it counted what must not happen.
func (r Record) Check() error {
	switch {
	case r.What == "":
		return errors.New(`no "what"`)
	case r.When.IsZero():
		return errors.New(`no "when"`)
	case r.Command == "":
		return errors.New(`no "command"`)
	case len(r.Counts) == 0:
		return errors.New(`no "counts"`)
	case r.Found == nil:
		return errors.New(`no "found": it is empty if nothing was`)
	}
	for name, n := range r.Counts {
		if n < 0 {
			return fmt.Errorf("%q is %d", name, n)
		}
		if Never(name) && n != 0 {
			return fmt.Errorf("%q is %d, not 0", name, n)
		}
	}
	return nil
}

// Write replaces the file of that name with records, which it checks only
// after they were written: what a run counted is not thrown away. What earlier
// runs found stays: those are told again by nobody.
func Write(name string, records ...Record) error {
	var before []Record
	if b, err := os.ReadFile(name); err == nil {
		before, _ = parse(b)
	}
	for i := range records {
		for _, r := range before {
			if r.What == records[i].What {
				records[i].Found = append(slices.Clone(r.Found), records[i].Found...)
			}
		}
		if records[i].Found == nil {
			records[i].Found = []string{}
		}
		records[i].When = records[i].When.UTC().Truncate(time.Second)
	}
	var out any = records
	if len(records) == 1 {
		out = records[0]
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, append(b, '\n'), 0o666); err != nil {
		return err
	}
	for _, r := range records {
		err = errors.Join(err, r.Check())
	}
	return err
}

// File is one file of records.
type File struct {
	Name    string // without the directory
	Records []Record
}

// ReadDir reads the .json files of a directory, by name, and checks them.
func ReadDir(dir string) ([]File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var files []File
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f := File{Name: filepath.Base(name)}
		if f.Records, err = parse(b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, f)
	}
	return files, nil
}

func parse(b []byte) ([]Record, error) {
	if !strings.HasPrefix(strings.TrimSpace(string(b)), "[") {
		b = slices.Concat([]byte("["), b, []byte("]"))
	}
	var records []Record
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&records); err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, errors.New("no records")
	}
	for _, r := range records {
		if err := r.Check(); err != nil {
			return nil, err
		}
	}
	return records, nil
}
