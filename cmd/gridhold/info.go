package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newInfo(g *globals) *cobra.Command {
	return command(g, "info", "Say what is there: kind, shapes, data type, codecs, attributes", "",
		func(ctx context.Context, c *cobra.Command, s *source) error {
			text, err := s.describe(ctx)
			if err != nil {
				return err
			}
			if g.json {
				return writeJSON(c.OutOrStdout(), text)
			}
			return writeFields(c.OutOrStdout(), text)
		})
}

func (s *source) describe(ctx context.Context) (json.RawMessage, error) {
	if s.opened != nil {
		return s.opened.describe(ctx)
	}
	if s.images != nil {
		return s.images.describe(ctx)
	}
	return s.engine.describe(ctx, s.store, s.path)
}

// writeJSON prints v indented.
func writeJSON(w io.Writer, v any) error {
	compact, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err = b.WriteTo(w)
	return err
}

// writeFields prints an object a field a line, in the order of its text,
// without what is null.
func writeFields(w io.Writer, text json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil { // the opening brace
		return err
	}
	var b bytes.Buffer
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if string(value) == "null" {
			continue
		}
		var plain string // a text without its quotes, where that is clear
		if json.Unmarshal(value, &plain) != nil || plain == "" || plain != oneLine(plain) {
			plain = string(value)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, plain)
	}
	_, err := b.WriteTo(w)
	return err
}
