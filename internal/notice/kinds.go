package main

import (
	"errors"
	"fmt"
	"strings"
)

// known are licences by what only their texts say, in small letters and
// without line breaks. Those that ask no more than to be named are let in.
var known = []struct {
	name, says string
	allowed    bool
}{
	{"AGPL", "gnu affero general public license", false},
	{"LGPL", "gnu lesser general public license", false},
	{"GPL", "gnu general public license", false},
	{"MPL", "mozilla public license", false},
	{"EPL", "eclipse public license", false},
	{"CDDL", "common development and distribution license", false},
	{"SSPL", "server side public license", false},
	{"BUSL", "business source license", false},
	{"Commons Clause", "commons clause", false},
	{"CC", "creative commons", false},
	{"Apache-2.0", "apache license", true},
	{"MIT", "permission is hereby granted, free of charge", true},
	{"BSD", "redistribution and use in source and binary forms", true},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose", true},
	{"public domain", "cc0 1.0", true},
	{"public domain", "unlicense", true},
}

// kinds are the licences that texts speak of, all of which have to be allowed.
// A notice beside a licence need not be one.
func kinds(texts []string) ([]string, error) {
	var names []string
	for _, text := range texts {
		plain := strings.Join(strings.Fields(strings.ToLower(text)), " ")
		for _, k := range known {
			if !strings.Contains(plain, k.says) {
				continue
			}
			if !k.allowed {
				return nil, fmt.Errorf("its licence is %s, which is not let in", k.name)
			}
			if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+k.name+" ") {
				names = append(names, k.name)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("its licence is not known")
	}
	return names, nil
}
