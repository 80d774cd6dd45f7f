package wasm_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm"
	"github.com/gridhold/gridhold/wasm/wire"
)

// maxBrotli is the most that the guest may take as brotli, in bytes: what was
// reached, rounded up. Raise it knowingly; docs/decisions/004-guest-size.md says
// how to find what grew, 006-the-guest-writes.md what containers cost;
// images and scratches took 0.08 MB more.
const maxBrotli = 1_450_000

func TestManifest(t *testing.T) {
	var m struct {
		ABI, Go, SHA256 string
		Size, Brotli    int
	}
	require.NoError(t, json.Unmarshal(wasm.Manifest, &m))
	sum := sha256.Sum256(wasm.Module)
	require.Equal(t, m.SHA256, hex.EncodeToString(sum[:]), "run wasm/build.sh")
	require.Equal(t, m.Size, len(wasm.Module))
	require.Equal(t, m.ABI, fmt.Sprintf("%d.%d", wire.Major, wire.Minor))
	require.NotZero(t, m.Brotli, "build where there is a brotli command")
	require.LessOrEqual(t, m.Brotli, maxBrotli)
	if m.Go != runtime.Version() {
		t.Logf("built with %s, tested with %s", m.Go, runtime.Version())
	}
}

// section is the text of docs/abi.md below a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	b, err := os.ReadFile("../docs/abi.md")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(b), "\n## "+heading+"\n")
	require.True(t, ok, heading)
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// rows are the tables of a section: the cells of each line but the heading's.
func rows(t *testing.T, heading string) (out [][]string) {
	t.Helper()
	for line := range strings.SplitSeq(section(t, heading), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") {
			continue
		}
		// A bar that is meant, in code, is written with a backslash before it.
		line = strings.ReplaceAll(line, `\|`, "\x00")
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
		}
		out = append(out, cells)
	}
	require.NotEmpty(t, out, heading)
	return out
}

// signature turns "`(kind, req, len) -> i32`" into the counts of parameters
// and results.
func signature(t *testing.T, text string) [2]int {
	t.Helper()
	m := regexp.MustCompile(`^\x60\(([^)]*)\)( -> [iu]32)?\x60$`).FindStringSubmatch(text)
	require.NotNil(t, m, text)
	params := 0
	if m[1] != "" {
		params = strings.Count(m[1], ",") + 1
	}
	results := 0
	if m[2] != "" {
		results = 1
	}
	return [2]int{params, results}
}

func shape(t *testing.T, f api.FunctionDefinition) [2]int {
	t.Helper()
	for _, v := range append(append([]api.ValueType(nil), f.ParamTypes()...), f.ResultTypes()...) {
		require.Equal(t, api.ValueTypeI32, v, "signatures hold only 32-bit integers")
	}
	return [2]int{len(f.ParamTypes()), len(f.ResultTypes())}
}

// declared are the imports that the guest's sources know, sorted.
func declared(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range []string{"guest/imports.go", "guest/files.go"} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^//go:wasmimport gridhold (\w+)$`).FindAllStringSubmatch(string(b), -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
}

// TestPage compares the tables of docs/abi.md with the module and the
// sources.
func TestPage(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	m, err := r.CompileModule(ctx, wasm.Module)
	require.NoError(t, err)

	exports := map[string][2]int{}
	for _, row := range rows(t, "Exports") {
		if row[0] != "export" {
			exports[strings.Trim(row[0], "`")] = signature(t, row[1])
		}
	}
	have := map[string][2]int{}
	for name, f := range m.ExportedFunctions() {
		have[name] = shape(t, f)
	}
	require.Equal(t, exports, have)
	require.Contains(t, m.ExportedMemories(), "memory")

	imports := map[string][2]int{}
	for _, row := range rows(t, "Imports") {
		if row[0] == "import" {
			continue
		}
		s := signature(t, row[1])
		s[1] = 1 // all answer i32
		if strings.Contains(row[2], "answers nothing") {
			s[1] = 0
		}
		imports[strings.Trim(row[0], "`")] = s
	}
	have = map[string][2]int{}
	for _, f := range m.ImportedFunctions() {
		switch module, name, _ := f.Import(); module {
		case "gridhold":
			have[name] = shape(t, f)
		default:
			require.Equal(t, "wasi_snapshot_preview1", module)
		}
	}
	for name, shape := range have {
		require.Equal(t, imports[name], shape, name)
	}
	// What no operation reaches yet, the linker leaves out.
	require.Equal(t, declared(t), slices.Sorted(maps.Keys(imports)))

	kinds := 0
	for _, row := range rows(t, "Operations") {
		if n, err := strconv.Atoi(row[0]); err == nil {
			require.Equal(t, strings.Trim(row[1], "`"), wire.KindName(uint32(n)))
			kinds++
		}
	}
	require.Equal(t, kinds, wire.LastKind)
	require.Empty(t, wire.KindName(uint32(kinds)+1))

	codes := map[fault.Code]string{}
	for _, row := range rows(t, "Codes") {
		for i := 0; i+1 < len(row); i++ {
			if n, err := strconv.Atoi(row[i]); err == nil {
				codes[fault.Code(n)] = row[i+1]
			}
		}
	}
	var numbers []int
	for code, name := range codes {
		require.Equal(t, name, code.Name(), "%d", code)
		numbers = append(numbers, int(code))
	}
	sort.Ints(numbers)
	require.Len(t, numbers, -numbers[0], "no gaps")
	require.ErrorIs(t, fault.Of(fault.Code(numbers[0]-1)), fault.ErrIO, "the page has the last one")
}
