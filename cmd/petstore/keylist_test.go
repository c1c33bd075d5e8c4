package main

import (
	"bytes"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

func TestTheTableOfKeysHasNoRoomForTheirCreationOnANarrowTerminal(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	keys := []pets.Key{
		{ID: "aaaaaaaa", Name: "the dashboard of the second floor, and of the third", ReadOnly: true, CreatedAt: noon, UsedAt: noon},
		{ID: "bbbbbbbb", Name: "日本語のキーの名前がここにあります", CreatedAt: noon, ExpiresAt: noon.Add(-time.Hour)},
		{ID: "cccccccc", Name: "a\x1b[2J\u202eb", CreatedAt: noon, ExpiresAt: noon.Add(24 * time.Hour)},
		{ID: "dddddddd", Name: "old", CreatedAt: noon, ExpiresAt: noon.Add(-time.Hour), RevokedAt: noon},
	}
	printed := func(columns int) string {
		var out bytes.Buffer
		if err := writeKeys(&out, columns, keys, noon); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for columns, want := range map[int]string{
		0: `ID        STATE               MAY    USED        CREATED     NAME
aaaaaaaa  active              read   2026-11-21  2026-11-21  the dashboard of the second floor, and of the third
bbbbbbbb  expired 2026-11-21  write  never       2026-11-21  日本語のキーの名前がここにあります
cccccccc  until 2026-11-22    write  never       2026-11-21  a\x1b[2J\u202eb
dddddddd  revoked 2026-11-21  write  never       2026-11-21  old
`,
		60: `ID        STATE               MAY    USED        NAME
aaaaaaaa  active              read   2026-11-21  the dashboard of the second floor, and of the third
bbbbbbbb  expired 2026-11-21  write  never       日本語のキーの名前がここにあります
cccccccc  until 2026-11-22    write  never       a\x1b[2J\u202eb
dddddddd  revoked 2026-11-21  write  never       old
`,
	} {
		if got := printed(columns); got != want {
			t.Errorf("in %d columns: got\n%s, want\n%s", columns, got, want)
		}
	}
}
