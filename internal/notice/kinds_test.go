package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKinds(t *testing.T) {
	for text, want := range map[string][]string{
		"Apache License\nVersion 2.0":                                            {"Apache-2.0"},
		"The MIT License\nPermission is hereby granted, free\nof charge, to any": {"MIT"},
		"Redistribution  and use in source and binary forms, with or":            {"BSD"},
	} {
		got, err := kinds([]string{text, "Copyright somebody"})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	both, err := kinds([]string{"Apache License", "apache license. Permission is hereby granted, free of charge"})
	require.NoError(t, err)
	require.Equal(t, []string{"Apache-2.0", "MIT"}, both)
	for text, want := range map[string]string{
		"":                                       "not known",
		"All rights reserved":                    "not known",
		"GNU GENERAL PUBLIC\n LICENSE Version 3": "GPL",
		"GNU AFFERO GENERAL PUBLIC LICENSE":      "AGPL",
		"Apache License, and: GNU Lesser General Public License":              "LGPL",
		"Permission is hereby granted, free of charge, under Commons  Clause": "Commons Clause",
	} {
		_, err := kinds([]string{text})
		require.ErrorContains(t, err, want, text)
	}
}

func TestPage(t *testing.T) {
	parts := []part{
		{name: "a", version: "v1", texts: []string{"one"}, kinds: []string{"MIT"}},
		{name: "b", version: "v2", texts: []string{"two", "one"}, kinds: []string{"BSD", "MIT"}},
	}
	text := string(page(parts))
	require.Contains(t, text, "\na v1: MIT [1]\nb v2: BSD, MIT [2] [1]\n")
	require.Contains(t, text, "\n[1]\n\none\n")
	require.Contains(t, text, "\n[2]\n\ntwo\n")
}
