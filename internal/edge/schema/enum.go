package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// enum is the set of values that a schema allows.
type enum struct {
	values []any // as YAML has them: numbers are float64s
	texts  []string
	says   string
}

func newEnum(values []any) *enum {
	e := &enum{values: values}
	var names []string
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			data, _ := json.Marshal(v) // what was YAML becomes JSON
			names = append(names, string(data))
			continue
		}
		e.texts = append(e.texts, text)
		names = append(names, text)
	}
	e.says = "must be one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		e.says = "must be " + names[0]
	}
	return e
}

func (e *enum) hasText(text string) bool { return slices.Contains(e.texts, text) }

func (e *enum) hasNumber(number float64) bool { return slices.Contains(e.values, any(number)) }

func (e *enum) has(value any) bool {
	switch value := value.(type) {
	case string:
		return e.hasText(value)
	case nil, bool:
		return slices.Contains(e.values, any(value))
	}
	want := canonical(value)
	return slices.ContainsFunc(e.values, func(v any) bool { return canonical(v) == want })
}

// canonical returns a text that is the same for all that JSON Schema calls the
// same value: 1, 1.0 and 1e0 are one number, and properties have no order.
func canonical(value any) string {
	switch value := value.(type) {
	case json.Number:
		if n, ok := parseInteger(string(value)); ok {
			return strconv.FormatInt(n, 10)
		}
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return string(value)
		}
		return canonical(f)
	case float64:
		if n := int64(value); float64(n) == value {
			return strconv.FormatInt(n, 10)
		}
		return strconv.FormatFloat(value, 'g', -1, 64)
	case string:
		return strconv.Quote(value)
	case []any:
		var b strings.Builder
		for _, item := range value {
			b.WriteString(canonical(item) + ",")
		}
		return "[" + b.String() + "]"
	case map[string]any:
		var b strings.Builder
		for _, name := range sortedKeys(value) {
			b.WriteString(strconv.Quote(name) + ":" + canonical(value[name]) + ",")
		}
		return "{" + b.String() + "}"
	}
	return fmt.Sprint(value)
}

func areUnique(items []any) bool {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		key := canonical(item)
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}
