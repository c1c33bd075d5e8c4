package keys_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
)

// RecordKeyUse implements pets.KeyStore.
func (d *desk) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	d.mu.Lock()
	d.records++
	err := d.recordErr
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return d.Store.RecordKeyUse(ctx, used)
}

func (d *desk) failRecords(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recordErr = err
}

func (d *desk) wantUsed(t *testing.T, id string, want time.Time) {
	t.Helper()
	if k, err := d.Store.Key(t.Context(), id); err != nil || !k.UsedAt.Equal(want) {
		t.Errorf("last use of %s: got %v (%v), want %v", id, k.UsedAt, err, want)
	}
}

func (d *desk) wantRecords(t *testing.T, want int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.records != want {
		t.Errorf("got %d writes of uses, want %d", d.records, want)
	}
}

func TestUsesAreStoredWithinAMinuteInOneWriteAndWhenTheServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, "a-fixed-key-of-the-operator")
		a, tokenA := d.mustIssue(t, 0)
		b, tokenB := d.mustIssue(t, 0)
		stop := d.RecordUse()
		d.wantOpen(t, "a-fixed-key-of-the-operator", fixedID(t, d))
		for range 100 {
			d.wantOpen(t, tokenA, a.ID)
		}
		d.wantOpen(t, tokenB, b.ID)
		first := d.now()
		d.wantUsed(t, a.ID, time.Time{}) // off the request's path
		time.Sleep(59 * time.Second)     // so that no tick falls on the end of a wait
		d.wantUsed(t, a.ID, first)
		d.wantUsed(t, b.ID, first)
		d.wantRecords(t, 1)
		time.Sleep(time.Hour) // of no use at all
		d.wantRecords(t, 1)

		d.advance(time.Hour) // past the cache's time, too
		d.wantOpen(t, tokenB, b.ID)
		if err := stop(); err != nil {
			t.Errorf("stopping: got error %v", err)
		}
		d.wantUsed(t, a.ID, first)
		d.wantUsed(t, b.ID, first.Add(time.Hour))
		d.wantRecords(t, 2)
	})
}

func TestAUseThatCannotBeStoredIsStoredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k, token := d.mustIssue(t, 0)
		away := &pets.Error{Kind: pets.Unavailable, Message: "away"}
		d.failRecords(away)
		stop := d.RecordUse()
		d.wantOpen(t, token, k.ID)
		used := d.now()
		time.Sleep(59 * time.Second) // so that no tick falls on the end of a wait
		d.failRecords(nil)
		time.Sleep(59 * time.Second) // so that no tick falls on the end of a wait
		d.wantUsed(t, k.ID, used)

		d.advance(time.Second)
		d.wantOpen(t, token, k.ID)
		d.failRecords(away)
		if err := stop(); !errors.Is(err, away) {
			t.Errorf("stopping: got error %v, want the store's", err)
		}
	})
}

func TestARefusedKeyIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k, token := d.mustIssue(t, time.Second)
		stop := d.RecordUse()
		d.advance(time.Minute) // after it has expired
		d.wantRefusal(t, token, keys.Expired, k.ID)
		if err := stop(); err != nil {
			t.Errorf("stopping: got error %v", err)
		}
		d.wantUsed(t, k.ID, time.Time{})
		d.wantRecords(t, 0)
	})
}

func TestAReadOnlyKeyIsGrantedAsOne(t *testing.T) {
	d := newDesk(t)
	k, token := d.mustMakeKey(t, 0)
	k.ReadOnly = true
	d.mustStore(t, k)
	if grant, refusal, err := d.Authenticate(t.Context(), token); err != nil || refusal != keys.Accepted || !grant.ReadOnly || grant.KeyID != k.ID {
		t.Errorf("got %+v, %v, error %v, want %s, read-only", grant, refusal, err, k.ID)
	}
}

func fixedID(t *testing.T, d *desk) string {
	t.Helper()
	grant, _, err := d.Authenticate(t.Context(), "a-fixed-key-of-the-operator")
	if err != nil {
		t.Fatal(err)
	}
	return grant.KeyID
}
