//go:build !linux

package rig

import (
	"errors"
	"time"
)

func processorTime(int) (time.Duration, error) {
	return 0, errors.New("the processor time of another process can be read on Linux only")
}
