package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by `make build` from git; else Go has recorded them.
var version, commit string

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), thisVersion())
			}
			_, err := io.WriteString(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
	addJSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

// versionJSON is the version as --json prints it.
type versionJSON struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
}

func thisVersion() versionJSON {
	return versionJSON{programVersion(), programCommit(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
}

// versionLine names the program's version, commit, compiler and platform.
func versionLine() string {
	v := thisVersion()
	return fmt.Sprintf("petstore %s (commit %s, %s, %s/%s)\n", v.Version, v.Commit, v.GoVersion, v.OS, v.Arch)
}

func programVersion() string { return cmp.Or(version, recorded().Main.Version, "unknown") }

func programCommit() string {
	if commit != "" {
		return commit
	}
	for _, setting := range recorded().Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return "unknown"
}

// recorded returns what Go recorded about the build, which may be nothing.
func recorded() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}
