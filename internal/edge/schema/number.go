package schema

import (
	"math/big"
	"regexp"
	"strconv"
)

const tooLarge = "must be a number that 64 bits can hold (IEEE 754)"

// parseInteger reads an integer as JSON writes it: no sign but a minus, no
// leading zero, no fraction, no exponent; and within int64.
func parseInteger(text string) (int64, bool) {
	digits := text
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// jsonNumber is the grammar of RFC 8259, section 6.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func isJSONNumber(text string) bool { return jsonNumber.MatchString(text) }

// isMultiple reports whether value is a multiple of step, both as the decimal
// numbers they were written as: 0.3 is one of 0.1, which it is not in binary.
func isMultiple(value, step float64) bool {
	v, ok := decimal(value)
	s, valid := decimal(step)
	return ok && valid && new(big.Rat).Quo(v, s).IsInt()
}

func decimal(f float64) (*big.Rat, bool) {
	return new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
}
