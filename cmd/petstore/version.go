package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by `make build` from git.
var version, commit string

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

// versionLine names the program's version, commit, compiler and platform.
func versionLine() string {
	return fmt.Sprintf("petstore %s (commit %s, %s, %s/%s)\n", programVersion(), programCommit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// programCommit returns the commit of `make build`, or the one that Go recorded.
func programCommit() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return "unknown"
}

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
