package primary

import "testing"

func TestNoAddressShowsItsPassword(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://pets@db1:5432,db2/pets":            "postgres://pets@db1:5432,db2/pets",
		"postgres://db1,db2:6543/pets?sslmode=require": "postgres://db1,db2:6543/pets?sslmode=require",
		"postgres://pets:s3cret@db1,db2/pets":          "postgres://pets:xxxxx@db1,db2/pets",
		"postgresql://pets:s3cret@db/pets?a=b":         "postgresql://pets:xxxxx@db/pets?a=b",
		"postgres://pets:s3@cret@db/pets":              "postgres://pets:xxxxx@db/pets",
		"postgres://pets:s3/cret@db/pets":              "postgres://pets:xxxxx@db/pets",
		"postgres://pets:s3?cret@db/pets":              "postgres://…",
		"postgres://pets:s3:cret@db/pets":              "postgres://pets:xxxxx@db/pets",
		"postgres://pets:s3cret":                       "postgres://…",
		"postgres://pets:s3cret/pets":                  "postgres://…",
		"postgres://db/pets?password=s3cret&a=b":       "postgres://db/pets?password=xxxxx&a=b",
		"postgres://db/pets?a=b&Pass%77ord=s3cret":     "postgres://db/pets?a=b&Pass%77ord=xxxxx",
		"postgres://db/pets?sslpassword=s3cret":        "postgres://db/pets?sslpassword=xxxxx",
		"postgres://db/pets?pass%zzword=s3cret":        "postgres://db/pets?pass%zzword=xxxxx",
		"postgres://db/pets?password=s3@cret":          "postgres://…",
		"postgres://db/pets?user=a;password=s3cret":    "postgres://db/pets?user=xxxxx",
		"postgres://pets:s3\ncret@db/pets":             "postgres://…",
		"postgres://[::1]:5432/pets":                   "postgres://…", // it could be a password
		"postgres://pets:s3cret@[::1]:5432/pets":       "postgres://pets:xxxxx@[::1]:5432/pets",
	} {
		if got := Redact(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
