package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// selection is the part of an array that the flags of read name. At most one
// field is set; none: the whole array.
type selection struct {
	region   []span
	subchunk *index
	chunk    *index
}

// span is start:stop of one axis; stop -1: to the end.
type span struct{ start, stop int64 }

// index is a place in a grid, one number an axis, or a single number that
// counts in C order.
type index []int64

// parseSelection reads the flags; an empty one is the only way to write the
// place of a scalar array.
func parseSelection(region, subchunk, chunk *string) (s selection, err error) {
	given := 0
	for _, f := range []*string{region, subchunk, chunk} {
		if f != nil {
			given++
		}
	}
	switch {
	case given > 1:
		err = usagef("--region, --subchunk and --chunk exclude each other")
	case region != nil:
		s.region, err = parseRegion(*region)
	case subchunk != nil:
		s.subchunk, err = parseIndex("--subchunk", *subchunk)
	case chunk != nil:
		s.chunk, err = parseIndex("--chunk", *chunk)
	}
	return s, err
}

func parseRegion(text string) ([]span, error) {
	region := []span{}
	if text == "" {
		return region, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, ":")
		sp := span{0, -1}
		var err error
		if from != "" || !isRange {
			if sp.start, err = parseNumber(from); err != nil {
				return nil, usagef("--region %s: want start:stop for each axis, as in 0:10,5:7", text)
			}
			sp.stop = sp.start + 1
		}
		if isRange {
			sp.stop = -1
			if to != "" {
				if sp.stop, err = parseNumber(to); err != nil {
					return nil, usagef("--region %s: want start:stop for each axis, as in 0:10,5:7", text)
				}
			}
		}
		region = append(region, sp)
	}
	return region, nil
}

func parseIndex(flag, text string) (*index, error) {
	at := index{}
	if text == "" {
		return &at, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := parseNumber(part)
		if err != nil {
			return nil, usagef("%s %s: want a number, or one for each axis, as in 3,1", flag, text)
		}
		at = append(at, n)
	}
	return &at, nil
}

// parseNumber takes digits only: no sign, no spaces.
func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

// in returns the place in a grid, one number an axis.
func (at index) in(grid []int64, what string) ([]int64, error) {
	place := append([]int64{}, at...)
	if len(at) == 1 && len(grid) != 1 {
		place = make([]int64, len(grid))
		rest := at[0]
		for i := len(grid) - 1; i >= 0 && grid[i] > 0; i-- {
			place[i], rest = rest%grid[i], rest/grid[i]
		}
		if rest > 0 {
			place = nil
		}
	} else if len(at) != len(grid) {
		return nil, fault.New(fault.ErrInvalid, what, at.String(), fmt.Sprintf("the grid has %d axes", len(grid)))
	}
	for i := range place {
		if place[i] >= grid[i] {
			place = nil
			break
		}
	}
	if place == nil {
		return nil, fault.New(fault.ErrOutOfRange, what, at.String(), "the grid is "+extents(grid))
	}
	return place, nil
}

func (at index) String() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint([]int64(at)), "[]"), " ", ",")
}

// bounds returns the first and the end of a region in an array of that shape;
// nil is the whole array.
func bounds(region []span, shape []int64) (start, stop []int64, err error) {
	start, stop = make([]int64, len(shape)), append([]int64{}, shape...)
	if region == nil {
		return start, stop, nil
	}
	if len(region) != len(shape) {
		return nil, nil, fault.New(fault.ErrInvalid, "region", "", fmt.Sprintf("%d axes given, the array has %d", len(region), len(shape)))
	}
	for i, sp := range region {
		start[i] = sp.start
		if sp.stop >= 0 {
			stop[i] = sp.stop
		}
		if start[i] > stop[i] || stop[i] > shape[i] {
			return nil, nil, fault.New(fault.ErrOutOfRange, "region", "",
				fmt.Sprintf("%d:%d on an axis of %d", start[i], stop[i], shape[i]))
		}
	}
	return start, stop, nil
}

// shapeOf returns the shape of [start, stop).
func shapeOf(start, stop []int64) []int64 {
	shape := make([]int64, len(start))
	for i := range start {
		shape[i] = stop[i] - start[i]
	}
	return shape
}
