package zarr

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Multiscale is a pyramid of OME-Zarr: one image at several resolutions,
// each an array below the group.
//
// OME-Zarr 0.4 and 0.5: https://ngff.openmicroscopy.org/
type Multiscale struct {
	Name    string  `json:"name,omitempty"`
	Version string  `json:"version,omitempty"`
	Axes    []Axis  `json:"axes"`
	Levels  []Level `json:"levels"` // finest first
}

// Axis is one axis of a pyramid's arrays.
type Axis struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // "space", "time", "channel"
	Unit string `json:"unit,omitempty"`
}

// Level is one resolution.
type Level struct {
	Path        string    `json:"path"`                  // of the array, relative to the group
	Scale       []float64 `json:"scale,omitempty"`       // size of an element per axis, in the axis's unit
	Translation []float64 `json:"translation,omitempty"` // of the first element
}

// Multiscales returns the pyramids that the group's attributes describe, nil
// if it has none. ErrCorrupt if they contradict the specification.
func (g *Group) Multiscales() ([]Multiscale, error) {
	ms, err := parseMultiscales(g.meta.attributes)
	if err != nil {
		return nil, badMetadata(prefixOf(g.path)+metadataKey, err)
	}
	return ms, nil
}

// ome is the part of a group's attributes that matters here: under "ome"
// since 0.5, at the top before.
type ome struct {
	version string
	scales  []pyramid
}

type pyramid struct {
	name, version string
	axes          []Axis
	datasets      []dataset
	transforms    []transform // after those of the datasets
}

type dataset struct {
	path       string
	transforms []transform
}

type transform struct {
	kind               string
	scale, translation []float64
}

// each reads the objects of a list with f; the first error ends it.
func each[T any](m *rawjson.Members, name string, f func(*rawjson.Members) (T, error)) ([]T, error) {
	l := m.List(name)
	if l == nil {
		return nil, m.Err()
	}
	out := make([]T, 0, len(l))
	for _, raw := range l {
		t, err := f(rawjson.MembersOf(raw))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, m.Err()
}

func parseOME(m *rawjson.Members) (*ome, error) {
	o := &ome{version: m.String("version", "")}
	var err error
	o.scales, err = each(m, "multiscales", parsePyramid)
	return o, err
}

func parsePyramid(m *rawjson.Members) (p pyramid, err error) {
	p.name, p.version = m.String("name", ""), m.String("version", "")
	if p.axes, err = each(m, "axes", parseAxis); err != nil {
		return p, err
	}
	if p.datasets, err = each(m, "datasets", parseDataset); err != nil {
		return p, err
	}
	p.transforms, err = each(m, transformations, parseTransform)
	return p, err
}

const transformations = "coordinateTransformations"

func parseAxis(m *rawjson.Members) (Axis, error) {
	a := Axis{m.String("name", ""), m.String("type", ""), m.String("unit", "")}
	return a, m.Err()
}

func parseDataset(m *rawjson.Members) (d dataset, err error) {
	d.path = m.String("path", "")
	d.transforms, err = each(m, transformations, parseTransform)
	return d, err
}

func parseTransform(m *rawjson.Members) (t transform, err error) {
	t.kind = m.String("type", "")
	if t.scale, err = numbers(m, "scale"); err != nil {
		return t, err
	}
	t.translation, err = numbers(m, "translation")
	return t, err
}

func numbers(m *rawjson.Members, name string) ([]float64, error) {
	var out []float64
	for _, raw := range m.List(name) {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || !rawjson.IsNumber(raw) {
			return nil, malformed(name, brief(raw)+" is not a number")
		}
		out = append(out, f)
	}
	return out, m.Err()
}

func parseMultiscales(attributes json.RawMessage) ([]Multiscale, error) {
	top := rawjson.MembersOf(attributes)
	o, err := parseOME(top)
	if err == nil && top.Raw("ome") != nil {
		o, err = parseOME(top.Object("ome"))
	}
	if err != nil {
		return nil, malformed("attributes", err.Error())
	}
	var out []Multiscale
	for i, m := range o.scales {
		field := "multiscales[" + itoa(int64(i)) + "]"
		s := Multiscale{Name: m.name, Version: m.version, Axes: m.axes}
		if s.Version == "" {
			s.Version = o.version
		}
		if len(m.datasets) == 0 {
			return nil, malformed(field+".datasets", "is empty")
		}
		for _, d := range m.datasets {
			if err := checkPath(d.path); err != nil || d.path == "" {
				return nil, malformed(field+".datasets", strconv.Quote(d.path)+" is not the path of a node")
			}
			l := Level{Path: d.path}
			for _, t := range append(d.transforms, m.transforms...) {
				if err := l.apply(field, t, len(m.axes)); err != nil {
					return nil, err
				}
			}
			if !allFinite(l.Scale) || !allFinite(l.Translation) {
				return nil, malformed(field, "transformations that are not finite")
			}
			s.Levels = append(s.Levels, l)
		}
		out = append(out, s)
	}
	return out, nil
}

func allFinite(v []float64) bool {
	for _, f := range v {
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return false
		}
	}
	return true
}

// WriteJSON implements [rawjson.Value].
func (m Multiscale) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	writeText(w, "name", m.Name)
	writeText(w, "version", m.Version)
	w.Name("axes")
	if m.Axes == nil {
		w.Null()
	} else {
		w.Open('[')
		for _, a := range m.Axes {
			a.WriteJSON(w)
		}
		w.Close(']')
	}
	w.Name("levels").Open('[')
	for _, l := range m.Levels {
		l.WriteJSON(w)
	}
	w.Close(']')
	w.Close('}')
}

// WriteJSON implements [rawjson.Value].
func (a Axis) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("name").String(a.Name)
	writeText(w, "type", a.Type)
	writeText(w, "unit", a.Unit)
	w.Close('}')
}

// WriteJSON implements [rawjson.Value].
func (l Level) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("path").String(l.Path)
	if len(l.Scale) > 0 {
		w.Name("scale").Floats(l.Scale)
	}
	if len(l.Translation) > 0 {
		w.Name("translation").Floats(l.Translation)
	}
	w.Close('}')
}

// apply puts a transformation after those that the level has.
func (l *Level) apply(field string, t transform, axes int) error {
	switch t.kind {
	case "scale":
		if len(t.scale) != axes {
			return malformed(field, "a scale of "+itoa(int64(len(t.scale)))+" axes, want "+itoa(int64(axes)))
		}
		if l.Scale == nil {
			l.Scale = ones(axes)
		}
		for i, f := range t.scale {
			l.Scale[i] *= f
			if l.Translation != nil {
				l.Translation[i] *= f
			}
		}
	case "translation":
		if len(t.translation) != axes {
			return malformed(field, "a translation of "+itoa(int64(len(t.translation)))+" axes, want "+itoa(int64(axes)))
		}
		if l.Translation == nil {
			l.Translation = make([]float64, axes)
		}
		for i, f := range t.translation {
			l.Translation[i] += f
		}
	}
	return nil // "identity", and what later versions bring
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// LevelFor returns the coarsest level whose elements are, along no space
// axis, larger than resolution (in the axes' unit); the finest if all are
// larger. Levels without a scale count as elements of size 1.
func (m Multiscale) LevelFor(resolution float64) int {
	best := 0
	for i, l := range m.Levels {
		fits := true
		for k, a := range m.Axes {
			size := 1.0
			if l.Scale != nil {
				size = l.Scale[k]
			}
			if a.Type == "space" && size > resolution {
				fits = false
			}
		}
		if fits {
			best = i
		}
	}
	return best
}
