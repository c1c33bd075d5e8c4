// Command man reads the description of a program's commands that `petstore describe`
// prints, and writes a man page of each to a folder. It knows nothing of the program.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func main() {
	folder := flag.String("out", "", "the folder of the pages, which must exist")
	version := flag.String("version", "", "the program's version")
	seconds := flag.Int64("time", 0, "the date of the pages, in Unix seconds")
	flag.Parse()
	var root command
	err := json.NewDecoder(os.Stdin).Decode(&root)
	if err == nil {
		date := time.Unix(*seconds, 0).UTC()
		tree := root.tree()
		err = doc.GenManTree(tree, &doc.GenManHeader{Section: "1", Date: &date, Source: tree.Name() + " " + *version}, *folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// command is a command as it is described.
type command struct {
	Use, Short, Long, Example string
	Flags                     []struct{ Name, Shorthand, Value, Usage, Default string }
	Commands                  []command
}

// tree returns the command with those below it. They do nothing.
func (c command) tree() *cobra.Command {
	cmd := &cobra.Command{Use: c.Use, Short: c.Short, Long: c.Long, Example: c.Example, DisableAutoGenTag: true, Run: func(*cobra.Command, []string) {}}
	cmd.Flags().SortFlags = false
	for _, f := range c.Flags {
		if f.Name == "help" { // cobra has one of its own
			continue
		}
		if f.Value != "" {
			cmd.Flags().VarP(&value{f.Value, f.Default}, f.Name, f.Shorthand, f.Usage)
		} else {
			cmd.Flags().BoolP(f.Name, f.Shorthand, false, f.Usage)
		}
	}
	for _, sub := range c.Commands {
		cmd.AddCommand(sub.tree())
	}
	return cmd
}

// value is a flag's value, of which a page shows the word and the default.
type value struct{ word, text string }

func (v *value) String() string { return v.text }

// Set implements pflag.Value.
func (v *value) Set(text string) error {
	v.text = text
	return nil
}

// Type implements pflag.Value.
func (v *value) Type() string { return v.word }
