package rawjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// texts is JSON and what is almost JSON.
var texts = []string{
	``, ` `, `null`, ` true `, `false`, `tru`, `truex`, `nul`, `True`, `{}`, `[]`, ` { } `, ` [ ] `, `{`, `[`, `}`, `]`, `{]`, `[}`,
	`{"a":1}`, "{ \"a\" : 1 ,\n\t\"b\":[1,2 , {\"c\":null}]\r}", `{"a":1,}`, `{"a":1 "b":2}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:1}`, `{,}`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":{"b":[]}}`, `{"A":1,"a":2}`, `[1,]`, `[,1]`, `[1 2]`, `[1],`, `[1][`, `1 2`, `{} x`, `{"":""}`,
	`0`, `-0`, `-`, `01`, `1.`, `.5`, `1.5`, `1e5`, `1E+5`, `1e-5`, `1e`, `1e+`, `-1.5e-300`, `1e999`, `+1`, `0x10`, `1_0`, `NaN`, `Infinity`, `-Infinity`, `-a`, `12345678901234567890123`,
	`""`, `"a"`, `"`, `"a`, `"\`, `"\"`, `"\\"`, `"\a"`, `"\/\b\f\n\r\t\"\\"`, `"\u"`, `"\u00"`, `"\u00e9"`, `"\u00E9\u20ac"`, `"\u00zz"`, `"é€😀"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83d\n"`, `"\ufffd"`,
	"\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", "{\"\xff\":1,\"\xfe\":2}", "\"\x7f\"", "\"\x1f\"", "\"a\nb\"", "\"\x00\"", "\x00", "\xef\xbb\xbf{}",
	"\"<&>\u2028\u2029\"", "[ \"<a b>\" , \"\\\" x\" ]", "{\"<\": \" & \"}", "\"\xe2\x80\"", "\"\xe2\x80\xa7\"", "[1,\v2]", "[1,\u00a02]",
	strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth),
}

// compare holds everything that reads to encoding/json.
func compare(t *testing.T, raw []byte) {
	before := bytes.Clone(raw)
	err := Check(raw)
	if err != nil && strings.Contains(err.Error(), "nested deeper") {
		return
	}
	require.Equal(t, json.Valid(raw), err == nil, "%q: %v", raw, err)

	var s string
	var want json.RawMessage
	got, err := String(raw)
	if json.Unmarshal(raw, &s) == nil && first(raw) != 'n' {
		require.NoError(t, err, "%q", raw)
		require.Equal(t, s, got, "%q", raw)
	} else {
		require.Error(t, err, "%q", raw)
	}

	var o map[string]json.RawMessage
	object, err := Object(raw)
	if json.Unmarshal(raw, &o) == nil && o != nil {
		require.NoError(t, err, "%q", raw)
		require.Equal(t, o, object, "%q", raw)
	} else {
		require.Error(t, err, "%q", raw)
	}

	var l []json.RawMessage
	list, err := List(raw)
	if json.Unmarshal(raw, &l) == nil && l != nil {
		require.NoError(t, err, "%q", raw)
		require.Equal(t, l, list, "%q", raw)
	} else {
		require.Error(t, err, "%q", raw)
	}

	var n json.Number
	number := json.Unmarshal(raw, &n) == nil && string(raw) == n.String()
	require.Equal(t, number, IsNumber(raw), "%q", raw)

	if json.Unmarshal(raw, &want) == nil {
		var b bytes.Buffer
		require.NoError(t, json.Compact(&b, raw))
		require.Equal(t, b.String(), string(Compact(raw)), "%q", raw)
		marshalled, err := json.Marshal(want)
		require.NoError(t, err)
		var w Writer
		w.Raw(raw)
		require.Equal(t, string(marshalled), string(w.Bytes()), "%q", raw)
	}
	require.Equal(t, before, raw, "the text was changed")

	marshalled, err := json.Marshal(string(raw))
	require.NoError(t, err)
	require.Equal(t, string(marshalled), string(AppendString(nil, string(raw))))
}

func first(raw []byte) byte {
	s := scanner{raw: raw}
	return s.peek()
}

func TestLikeEncodingJSON(t *testing.T) {
	for _, text := range texts {
		compare(t, []byte(text))
		compare(t, []byte(`{"x":`+text+`}`))
		compare(t, []byte(`[`+text+`,`+text+`]`))
		for i := range text {
			compare(t, []byte(text[:i]))
		}
	}
	var all []byte
	for c := range 256 {
		all = append(all, byte(c))
	}
	compare(t, all)
}

func FuzzLikeEncodingJSON(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(compare)
}

func TestDepth(t *testing.T) {
	for _, pair := range []string{"[]", "{}"} {
		open := pair[:1]
		if open == "{" {
			open = `{"a":`
		}
		deep := func(n int) []byte {
			return []byte(strings.Repeat(open, n-1) + pair + strings.Repeat(pair[1:], n-1))
		}
		require.NoError(t, Check(deep(MaxDepth)))
		err := Check(deep(MaxDepth + 1))
		require.ErrorContains(t, err, "nested deeper than 64")
		require.Error(t, Check([]byte(strings.Repeat(open, 1<<20))))
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,}`: "JSON at 7: '}' where a name was expected",
		`[1 2]`:    "JSON at 3: '2' where ',' or ']' was expected",
		`{"a":tru`: "JSON at 5: 't' where true was expected",
		`{"a":`:    "JSON at 5: ends where a value was expected",
		`{} {`:     "JSON at 3: more after the value",
		`null`:     "is null, want an object",
		`3`:        "is a number, want an object",
	} {
		_, err := Object([]byte(text))
		require.EqualError(t, err, want, "%s", text)
	}
}

func TestWriter(t *testing.T) {
	type inner struct {
		Ints   []int64   `json:"ints"`
		None   []int64   `json:"none"`
		Floats []float64 `json:"floats"`
		Bare   []float64 `json:"bare"`
	}
	v := struct {
		S string          `json:"s"`
		N int64           `json:"n"`
		B bool            `json:"b"`
		R json.RawMessage `json:"r"`
		Z json.RawMessage `json:"z"`
		L []inner         `json:"l"`
	}{"<\x00\xff\u2028\b\f>", math.MinInt64, true, json.RawMessage(` {"a" : "< \\\" &" } `), nil,
		[]inner{{Ints: []int64{1, -2}}, {Ints: []int64{}, Floats: []float64{0, math.Copysign(0, -1), 1, 1.5, 1e20, 1e21, 1e-6, 9e-7, 1e-10, 1e-100, -3.25e300, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 / 3.0}}}}
	want, err := json.Marshal(v)
	require.NoError(t, err)
	var w Writer
	w.Open('{')
	w.Name("s")
	w.String(v.S)
	w.Name("n")
	w.Int(v.N)
	w.Name("b")
	w.Bool(v.B)
	w.Name("r")
	w.Raw(v.R)
	w.Name("z")
	w.Raw(v.Z)
	w.Name("l")
	w.Open('[')
	for _, i := range v.L {
		w.Open('{')
		w.Name("ints")
		w.Ints(i.Ints)
		w.Name("none")
		w.Ints(i.None)
		w.Name("floats")
		w.Floats(i.Floats)
		w.Name("bare")
		w.Floats(i.Bare)
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	require.Equal(t, string(want), string(w.Bytes()))
}

func FuzzFloat(f *testing.F) {
	f.Add(1e-7)
	f.Fuzz(func(t *testing.T, v float64) {
		var w Writer
		w.Float(v)
		want, err := json.Marshal(v)
		if err != nil {
			want = []byte("null")
		}
		require.Equal(t, string(want), string(w.Bytes()))
	})
}

func TestMembers(t *testing.T) {
	m := MembersOf([]byte(`{"s":"x","n":7,"f":1.5,"q":"1e3","t":true,"z":null,"l":[1],"o":{"s":"y"}}`))
	require.Equal(t, "x", m.String("s", "other"))
	require.Equal(t, "other", m.String("z", "other"))
	require.Equal(t, "other", m.String("absent", "other"))
	require.EqualValues(t, 7, m.Int("n", 0, 7, 3))
	require.EqualValues(t, 3, m.Int("z", 0, 7, 3))
	require.Equal(t, "1.5", m.Number("f"))
	require.Equal(t, "1e3", m.Number("q"))
	require.Empty(t, m.Number("z"))
	require.True(t, m.Bool("t"))
	require.False(t, m.Bool("absent"))
	require.Len(t, m.List("l"), 1)
	require.Nil(t, m.List("z"))
	require.Equal(t, "y", m.Object("o").String("s", ""))
	require.Empty(t, m.Object("absent").String("s", ""))
	require.NoError(t, m.Err())

	for name, ask := range map[string]func(m *Members){
		"s":  func(m *Members) { m.String("s", "") },
		"n":  func(m *Members) { m.Int("n", 0, 6, 0) },
		"i":  func(m *Members) { m.Int("i", 0, 6, 0) },
		"f":  func(m *Members) { m.Number("f") },
		"b":  func(m *Members) { m.Bool("b") },
		"l":  func(m *Members) { m.List("l") },
		"i8": func(m *Members) { m.Int("i8", math.MinInt64, math.MaxInt64, 0) },
	} {
		m := MembersOf([]byte(`{"s":1,"n":7,"i":1.0,"f":"x","b":0,"l":{},"i8":9223372036854775808}`))
		ask(m)
		require.ErrorContains(t, m.Err(), name+": ")
	}
	require.Error(t, MembersOf([]byte(`[]`)).Err())
	require.Error(t, MembersOf([]byte(`{`)).Err())
	require.NoError(t, MembersOf(nil).Err())
	require.NoError(t, MembersOf([]byte(`null`)).Err())
	m = MembersOf([]byte(`{"o":` + strconv.Itoa(3) + `}`))
	require.Error(t, m.Object("o").Err())
}
