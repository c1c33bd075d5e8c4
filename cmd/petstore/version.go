package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker; otherwise Go has recorded them.
var version, commit string

func versionCommand(env environment) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !asJSON {
				_, err := io.WriteString(env.stdout, versionLine())
				return err
			}
			return printJSON(env.stdout, struct {
				Version   string `json:"version"`
				Commit    string `json:"commit"`
				GoVersion string `json:"goVersion"`
				OS        string `json:"os"`
				Arch      string `json:"arch"`
			}{programVersion(), programCommit(), runtime.Version(), runtime.GOOS, runtime.GOARCH})
		},
	}
	addJSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

func versionLine() string {
	return fmt.Sprintf("petstore %s (commit %s, %s, %s/%s)\n", programVersion(), programCommit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func programVersion() string { return cmp.Or(version, buildInfo().Main.Version, "unknown") }

func programCommit() string {
	for _, setting := range buildInfo().Settings {
		if setting.Key == "vcs.revision" {
			return cmp.Or(commit, setting.Value)
		}
	}
	return cmp.Or(commit, "unknown")
}

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}
