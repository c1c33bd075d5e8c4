//go:build postgres && torture

package soak

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The places of two common events, whose store address may change.
const (
	importEvent = 3
	keysEvent   = 4
)

// commonEvents happen on every store. dir takes their files.
func (d *deployment) commonEvents(address, dir string) []event {
	return []event{
		{"kill -9 of a server", 3, func(t *testing.T) { d.anyServer().restart(t, syscall.SIGKILL) }},
		{"a restart", 3, func(t *testing.T) { d.anyServer().restart(t, syscall.SIGTERM) }},
		{"a rolling restart", 1, func(t *testing.T) { d.roll(t, syscall.SIGTERM) }},
		importEvent: {"an import", 2, func(t *testing.T) { d.importAnimals(t, address) }},
		keysEvent:   {"a key created and revoked", 2, func(t *testing.T) { d.changeKeys(t, address) }},
	}
}

// roll replaces the processes one after the other.
func (d *deployment) roll(t *testing.T, sig syscall.Signal) {
	for _, s := range d.servers {
		s.restart(t, sig)
	}
}

// importAnimals imports a file of animals that the ledger does not know. A
// store that is full or busy may refuse it; then none is stored.
func (d *deployment) importAnimals(t *testing.T, address string) {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("name,categoryId,status\n")
	for i := range 200 {
		fmt.Fprintf(&rows, "imported-%d-%d,1,available\n", d.random.Int64(), i)
	}
	file := filepath.Join(t.TempDir(), "animals.csv")
	if err := os.WriteFile(file, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := petstore("import", "--store", address, file); err != nil {
		t.Error(err)
	}
}

// changeKeys creates a key, uses it, revokes it and waits until every server
// refuses it.
func (d *deployment) changeKeys(t *testing.T, address string) {
	t.Helper()
	name := fmt.Sprintf("soak-%d", d.random.Int64())
	out, err := petstore("keys", "create", "--store", address, name)
	if err != nil {
		t.Error(err)
		return
	}
	token := ""
	for _, word := range strings.Fields(out) {
		if strings.HasPrefix(word, "psk_") {
			token = word
		}
	}
	everywhere := func(want int) {
		for _, s := range d.servers {
			eventually(t, fmt.Sprintf("%d for the key at %s", want, s.address), func() bool { return statusWith(s, token) == want })
		}
	}
	everywhere(http.StatusOK)
	id := strings.Split(token, "_")[1]
	if _, err := petstore("keys", "revoke", "--store", address, id); err != nil {
		t.Error(err)
		return
	}
	everywhere(http.StatusUnauthorized)
}

func statusWith(s *server, token string) int {
	c := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequest(http.MethodGet, "http://"+s.address+"/v1/pets?limit=1", nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(r)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
