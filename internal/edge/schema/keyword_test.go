package schema

import "testing"

func TestEveryFormatHasASentence(t *testing.T) {
	for name, f := range formats {
		if f.says == "" && name != "password" {
			t.Errorf("format %s: got no sentence, want one", name)
		}
	}
}
