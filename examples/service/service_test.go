package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const arrays = "../../testdata/zarr"

func ask(t *testing.T, method, url string, body []byte) (status int, answer string) {
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}

// TestUploads has one client read a good array while others upload every
// damaged one and read that: the good one stays right, and the service alive.
func TestUploads(t *testing.T) {
	s, err := newService(t.Context(), t.TempDir(), 2)
	require.NoError(t, err)
	server := httptest.NewServer(s)
	defer func() {
		server.Close()
		require.NoError(t, s.Close())
	}()
	good := arrays + "/index_end_crc_zarr-python"
	status, name := ask(t, "POST", server.URL+"/arrays", storagetest.Zip(t, os.DirFS(good)))
	require.Equal(t, http.StatusCreated, status, name)
	at := server.URL + "/arrays/" + strings.TrimSpace(name)

	store, err := file.Open(good, file.Options{})
	require.NoError(t, err)
	defer store.Close()
	native, err := zarr.OpenArray(t.Context(), store, "", zarr.Options{})
	require.NoError(t, err)
	want, err := native.RetrieveSubchunk(t.Context(), make([]int64, len(native.Shape())), zarr.ReadOptions{})
	require.NoError(t, err)
	first := "/0" + strings.Repeat(".0", len(native.Shape())-1)

	damaged, err := os.ReadDir(arrays + "/corrupt")
	require.NoError(t, err)
	require.Greater(t, len(damaged), 50)
	var wg sync.WaitGroup
	for half := range 2 {
		wg.Go(func() {
			for i := half; i < len(damaged); i += 2 {
				status, answer := ask(t, "POST", server.URL+"/arrays", storagetest.Zip(t, os.DirFS(arrays+"/corrupt/"+damaged[i].Name())))
				if status == http.StatusCreated {
					status, answer = ask(t, "GET", server.URL+"/arrays/"+strings.TrimSpace(answer)+first, nil)
				}
				if status == http.StatusInternalServerError {
					t.Errorf("%s: %d %s", damaged[i].Name(), status, answer)
				}
			}
		})
	}
	wg.Go(func() {
		for range 100 {
			if status, b := ask(t, "GET", at+first, nil); status != http.StatusOK || b != string(want) {
				t.Errorf("status %d, %d bytes", status, len(b))
			}
		}
	})
	wg.Wait()

	status, text := ask(t, "GET", at, nil)
	require.Equal(t, http.StatusOK, status)
	require.True(t, json.Valid([]byte(text)))
	for path, want := range map[string]int{
		first + ".0": http.StatusBadRequest, "/9999" + first[2:]: http.StatusNotFound, "/x": http.StatusBadRequest,
		"/..%2f..%2fetc": http.StatusBadRequest, "/-1" + first[2:]: http.StatusNotFound,
	} {
		status, text := ask(t, "GET", at+path, nil)
		require.Equal(t, want, status, text)
	}
	status, _ = ask(t, "GET", server.URL+"/arrays/"+strings.Repeat("0", 32), nil)
	require.Equal(t, http.StatusNotFound, status)
	status, _ = ask(t, "POST", server.URL+"/arrays", []byte("no archive"))
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Zero(t, s.box.Stats().Died)
	require.LessOrEqual(t, s.box.Stats().Started, int64(2))
}
