package zarr

import (
	"encoding/json"
	"strconv"
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
	Version     string `json:"version"`
	Multiscales []struct {
		Name       string      `json:"name"`
		Version    string      `json:"version"`
		Axes       []Axis      `json:"axes"`
		Datasets   []dataset   `json:"datasets"`
		Transforms []transform `json:"coordinateTransformations"` // after those of the datasets
	} `json:"multiscales"`
}

type dataset struct {
	Path       string      `json:"path"`
	Transforms []transform `json:"coordinateTransformations"`
}

type transform struct {
	Type        string    `json:"type"`
	Scale       []float64 `json:"scale"`
	Translation []float64 `json:"translation"`
}

func parseMultiscales(attributes json.RawMessage) ([]Multiscale, error) {
	var top struct {
		ome
		OME *ome `json:"ome"`
	}
	if err := json.Unmarshal(attributes, &top); err != nil {
		return nil, malformed("attributes", err.Error())
	}
	o := &top.ome
	if top.OME != nil {
		o = top.OME
	}
	var out []Multiscale
	for i, m := range o.Multiscales {
		field := "multiscales[" + strconv.Itoa(i) + "]"
		s := Multiscale{Name: m.Name, Version: m.Version, Axes: m.Axes}
		if s.Version == "" {
			s.Version = o.Version
		}
		if len(m.Datasets) == 0 {
			return nil, malformed(field+".datasets", "is empty")
		}
		for _, d := range m.Datasets {
			if err := checkPath(d.Path); err != nil || d.Path == "" {
				return nil, malformed(field+".datasets", strconv.Quote(d.Path)+" is not the path of a node")
			}
			l := Level{Path: d.Path}
			for _, t := range append(d.Transforms, m.Transforms...) {
				if err := l.apply(field, t, len(m.Axes)); err != nil {
					return nil, err
				}
			}
			s.Levels = append(s.Levels, l)
		}
		out = append(out, s)
	}
	return out, nil
}

// apply puts a transformation after those that the level has.
func (l *Level) apply(field string, t transform, axes int) error {
	switch t.Type {
	case "scale":
		if len(t.Scale) != axes {
			return malformed(field, "a scale of "+strconv.Itoa(len(t.Scale))+" axes, want "+strconv.Itoa(axes))
		}
		if l.Scale == nil {
			l.Scale = ones(axes)
		}
		for i, f := range t.Scale {
			l.Scale[i] *= f
			if l.Translation != nil {
				l.Translation[i] *= f
			}
		}
	case "translation":
		if len(t.Translation) != axes {
			return malformed(field, "a translation of "+strconv.Itoa(len(t.Translation))+" axes, want "+strconv.Itoa(axes))
		}
		if l.Translation == nil {
			l.Translation = make([]float64, axes)
		}
		for i, f := range t.Translation {
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
