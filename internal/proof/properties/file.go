package properties

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
)

// object decodes a JSON object.
func object(text []byte) (map[string]any, error) {
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("got %.100s (%w), want a JSON object", text, err)
	}
	o, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("got %.100s, want a JSON object", text)
	}
	return o, nil
}

func appendObject(pets []map[string]any, text []byte) ([]map[string]any, error) {
	o, err := object(text)
	return append(pets, o), err
}

// list returns all pets of a service.
func list(s Service) (pets []map[string]any, err error) {
	text, err := s.List()
	if err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("got %.100s (%w), want an array", text, err)
	}
	for _, one := range raw {
		if pets, err = appendObject(pets, one); err != nil {
			return nil, err
		}
	}
	return pets, nil
}

// rows returns the rows of a file. The values of CSV are texts.
func rows(format string, file []byte) (pets []map[string]any, err error) {
	if format == "ndjson" {
		for line := range bytes.Lines(file) {
			if pets, err = appendObject(pets, line); err != nil {
				return nil, err
			}
		}
		return pets, nil
	}
	records, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil || len(records) == 0 {
		return nil, fmt.Errorf("got %d records of CSV (%w)", len(records), err)
	}
	for _, record := range records[1:] {
		row := map[string]any{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		pets = append(pets, row)
	}
	return pets, nil
}

// cells returns a pet as CSV has it. A column that the row has and the pet lacks is
// empty.
func cells(pet, row map[string]any) map[string]any {
	texts := map[string]any{}
	for name := range row {
		texts[name] = ""
	}
	for name, value := range pet {
		switch value := value.(type) {
		case nil:
			texts[name] = ""
		case string:
			texts[name] = value
		default:
			texts[name] = string(encode(value))
		}
	}
	return texts
}
