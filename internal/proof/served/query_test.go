package served_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

// withPets stores n pets, of every status in turn.
func withPets(t testing.TB, s *server, n int) {
	t.Helper()
	for i := range n {
		p := pets.NewPet{Name: fmt.Sprint("pet ", i+1), CategoryID: int64(i), Status: pets.Statuses()[i%3]}
		if _, err := s.store.CreatePet(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryMalformedQueryIsRefusedWithAMessageThatNamesTheParameter(t *testing.T) {
	s := start(t)
	for query, message := range map[string]string{
		"limit=0":                    "limit must be between 1 and 100",
		"limit=101":                  "limit must be between 1 and 100",
		"limit=-1":                   "limit must be between 1 and 100",
		"limit=99999999999999999999": "limit must be",
		"limit=":                     "limit must not be empty",
		"limit":                      "limit must not be empty",
		"limit=ten":                  "limit must be an integer",
		"limit=1.0":                  "limit must be an integer",
		"limit=1e1":                  "limit must be an integer",
		"limit=0x10":                 "limit must be an integer",
		"limit=%2010":                "limit must be an integer",
		"limit=10%00":                "limit must be an integer",
		"limit=null":                 "limit must be an integer",
		"limit=1,2":                  "limit must be an integer",
		"limit=1&limit=1":            "limit must be given only once",
		"limit=1&%6cimit=2":          "limit must be given only once",
		"limit=1&limit":              "limit must be given only once",
		"limit=%d9%a1":               "limit must be an integer", // ARABIC-INDIC DIGIT ONE
		"status=":                    "status must not be empty",
		"status=lost":                "status must be one of available, pending, sold",
		"status=SOLD":                "status must be one of",
		"status=sold,pending":        "status must be one of",
		"status=sold%20":             "status must be one of",
		"status=sold&status=sold":    "status must be given only once",
		"status=%ff":                 "status must be one of",
		"limit=02":                   "limit must be an integer",
		"limit=%2B2":                 "limit must be an integer",
		"limit=+2":                   "limit must be an integer",
		"limit=-0":                   "limit must be between 1 and 100",
		"limit=00":                   "limit must be an integer",
		"limit=1_0":                  "limit must be an integer",
		"after=-":                    "after must be an integer",
		"after=":                     "after must not be empty",
		"after=-1":                   "after must be",
		"after=x":                    "after must be an integer",
		"after=1.5":                  "after must be an integer",
		"after=9223372036854775808":  "after must be",
		"after=1&after=2":            "after must be given only once",
		"%zz":                        "the query string is malformed",
		"limit=%zz":                  "the query string is malformed",
		"limit=5%":                   "the query string is malformed",
		"%":                          "the query string is malformed",
		"other=%":                    "the query string is malformed",
		"limit=5;status=sold":        "the query string is malformed",
		"other=1;2":                  "the query string is malformed",
		"limit=5&%zz=1":              "the query string is malformed",
	} {
		t.Run(query, func(t *testing.T) {
			s.get(t, petsPath+"?"+query).wants(t, 400, "invalid_parameter", message)
		})
	}
}

func TestWhatIsNotInTheDocumentIsIgnoredInAQuery(t *testing.T) {
	s := start(t)
	withPets(t, s, 5)
	want := string(s.get(t, petsPath+"?limit=2").body)
	for _, query := range []string{
		"limit=2&other=1", "other=1&other=2&limit=2", "limit=2&", "&limit=2", "&&limit=2&&", "limit=2&=", "limit=2&=x", "Limit=4&limit=2",
		"limit=2&LIMIT=", "limit=%32", "%6cimit=2", "limit=2&limit%20=3", "limit=2&%00=%ff", "limit=2&limit[]=3",
		strings.Repeat("x&", 15_000) + "limit=2",
	} {
		if resp := s.get(t, petsPath+"?"+query); resp.StatusCode != 200 || string(resp.body) != want {
			t.Errorf("%.60s: got %d %s, want the first two pets", query, resp.StatusCode, resp.body)
		}
	}
	if resp := s.get(t, petsPath+"?"); resp.StatusCode != 200 {
		t.Errorf("an empty query: got %d, want 200", resp.StatusCode)
	}
}

func TestTheGreatestValuesOfAQueryAreAccepted(t *testing.T) {
	s := start(t)
	withPets(t, s, 101)
	for query, animals := range map[string]int{
		"":                              20,
		"limit=1":                       1,
		"limit=100":                     100,
		"limit=100&after=0":             100,
		"after=9223372036854775807":     0,
		"after=9007199254740993":        0,
		"after=100":                     1,
		"after=101":                     0,
		"status=sold&limit=100":         33,
		"status=sold&after=99":          0,
		"status=pending&after=99":       1,
		"status=available&limit=2":      2,
		"status=%73old&after=0&limit=1": 1,
	} {
		resp := s.get(t, petsPath+"?"+query)
		resp.wants(t, 200, "", "")
		if got := strings.Count(string(resp.body), `"id"`); got != animals {
			t.Errorf("%s: got %d pets, want %d", query, got, animals)
		}
	}
}

func TestAnEmptyPageIsAnEmptyArray(t *testing.T) {
	s := start(t)
	for _, query := range []string{"", "?status=sold", "?after=5"} {
		if got := strings.TrimSpace(string(s.get(t, petsPath+query).body)); got != "[]" {
			t.Errorf("no pets, %s: got %s, want []", query, got)
		}
	}
}

func TestTheNextPageIsAnnouncedAsLongAsThereIsOne(t *testing.T) {
	s := start(t)
	withPets(t, s, 30)
	for query, want := range map[string]string{
		"":                             `</v1/pets?limit=20&after=20>; rel="next"`,
		"?limit=29":                    `</v1/pets?limit=29&after=29>; rel="next"`,
		"?limit=30":                    "",
		"?limit=31":                    "",
		"?limit=10&after=20":           "",
		"?limit=9&after=20":            `</v1/pets?limit=9&after=29>; rel="next"`,
		"?status=sold&limit=9":         `</v1/pets?limit=9&status=sold&after=27>; rel="next"`,
		"?status=sold&limit=10":        "",
		"?after=30":                    "",
		"?other=1&limit=1&after=1&x=y": `</v1/pets?limit=1&after=2>; rel="next"`,
	} {
		if got := s.get(t, petsPath+query).Header.Get("Link"); got != want {
			t.Errorf("Link of %s: got %s, want %s", query, got, want)
		}
	}
}

func TestPetIDsAreDecimalInt64s(t *testing.T) {
	s := start(t)
	withPets(t, s, 1)
	for id, want := range map[string]int{
		"1":                    200,
		"%31":                  200,
		"2":                    404,
		"0":                    404,
		"-1":                   404,
		"9223372036854775807":  404,
		"-9223372036854775808": 404,
		"9223372036854775808":  400,
		"99999999999999999999": 400,
		"1.0":                  400,
		"1e0":                  400,
		"0x1":                  400,
		"01":                   400,
		"-01":                  400,
		"+1":                   400,
		"%2B1":                 400,
		"1e1":                  400,
		"x":                    400,
		"1x":                   400,
		"1,2":                  400,
		"%201":                 400,
		"1%00":                 400,
		"%00":                  400,
		"%ff":                  400,
		"1%2F2":                400,
		"%2f":                  400,
		"1;x":                  400,
		"%EF%BC%91":            400, // FULLWIDTH DIGIT ONE
		"%2531":                400,
		"..":                   400,
	} {
		t.Run(id, func(t *testing.T) {
			resp := s.get(t, petsPath+"/"+id)
			switch want {
			case 400:
				resp.wants(t, 400, "invalid_parameter", "petId must be an integer")
			case 404:
				resp.wants(t, 404, "not_found", "there is no pet with id "+id)
			default:
				resp.wants(t, 200, "", "")
			}
		})
	}
}
