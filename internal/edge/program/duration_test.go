package program

import (
	"testing"
	"time"
)

func TestADurationMayHaveDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "5s": 5 * time.Second, "90m": 90 * time.Minute, "1.5h": 90 * time.Minute, "-1h": -time.Hour,
		"30d": 720 * time.Hour, "0d": 0, "1d12h": 36 * time.Hour,
		"106751d": 106751 * 24 * time.Hour,
	} {
		var got duration
		if err := got.Set(text); err != nil || time.Duration(got) != want {
			t.Errorf("%q: got %v (%v), want %v", text, time.Duration(got), err, want)
		}
	}
	for _, text := range []string{"", "5", "d", "1.5d", "30 d", "30days", "1d-12h", "-2d", "-1d12h", "1d+12h", "1d5", "1h1d", "106752d", "106751d24h", "99999999999999999999d", "abc", "5S"} {
		got := duration(time.Minute)
		if err := got.Set(text); err == nil || time.Duration(got) != time.Minute {
			t.Errorf("%q: got %v (%v), want an error and no change", text, time.Duration(got), err)
		}
	}
	for value, want := range map[time.Duration]string{0: "0s", 720 * time.Hour: "30d", 25 * time.Hour: "25h0m0s", 10 * time.Second: "10s"} {
		if got := (*duration)(&value).String(); got != want {
			t.Errorf("%v: got %q, want %q", value, got, want)
		}
	}
}
