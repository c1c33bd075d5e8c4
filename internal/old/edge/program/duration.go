package program

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

const day = 24 * time.Hour

// duration is the value of a flag that takes days beside the units of Go: 30d,
// 1d12h.
type duration time.Duration

// AddDuration adds a flag that takes a duration, in days too.
func AddDuration(flags *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	flags.Var((*duration)(d), name, usage)
}

func (d *duration) String() string {
	if days := time.Duration(*d); days != 0 && days%day == 0 {
		return strconv.FormatInt(int64(days/day), 10) + "d"
	}
	return time.Duration(*d).String()
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 64)
	if err != nil || n > uint64(math.MaxInt64/day) {
		return errDuration
	}
	total := time.Duration(n) * day
	if rest != "" || !found {
		more, err := time.ParseDuration(rest)
		signed := strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+")
		if err != nil || found && signed || n > 0 && total+more < total {
			return errDuration
		}
		total += more
	}
	*d = duration(total)
	return nil
}

var errDuration = errors.New("give a number and its unit, such as 5s, 10m, 2h or 30d")
