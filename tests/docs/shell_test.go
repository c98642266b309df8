package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

// command is one of a block, with what it is shown to print.
type command struct{ text, prints string }

// commands takes a block apart. In a console commands stand behind "$ ".
func commands(b *markdown.Block) []command {
	if b.Lang == "sh" {
		return []command{{text: b.Text}}
	}
	var all []command
	goesOn := false
	for line := range strings.Lines(b.Text) {
		switch text, isCommand := strings.CutPrefix(line, "$ "); {
		case isCommand:
			all = append(all, command{text: text})
			goesOn = strings.HasSuffix(text, "\\\n")
		case goesOn:
			all[len(all)-1].text += line
			goesOn = strings.HasSuffix(line, "\\\n")
		case len(all) > 0:
			all[len(all)-1].prints += line
		}
	}
	return all
}

// shell checks a block of commands, and runs them where a note says so.
func (s *scene) shell(t *testing.T, b *markdown.Block) {
	t.Helper()
	all := commands(b)
	require.NotEmpty(t, all, "%s: no command", b.Where())
	for _, c := range all {
		s.requireKnown(t, b, c.text)
	}
	if !b.Has("runs") {
		return
	}
	if strings.Contains(b.Text, "python") {
		needPython(t)
	}
	// All in one shell, so that one may prepare the next; a line of its own parts what
	// they print.
	const part = "-- next --"
	var script strings.Builder
	script.WriteString("set -eo pipefail\n")
	for _, c := range all {
		script.WriteString(c.text + "\necho '" + part + "'\n")
	}
	dir := s.dir
	if s.over.files != nil { // what the page lays over the tree is only seen in it
		dir = root(t)
	}
	printed := strings.Split(output(t, dir, environment(t, s.over.setting(t)), "bash", "-c", script.String()), part+"\n")
	require.Len(t, printed, len(all)+1)
	for i, c := range all {
		if b.Lang == "console" {
			require.True(t, matches(c.prints, printed[i]), "%s\nexpected\n%s\nprinted\n%s", c.text, c.prints, printed[i])
		}
	}
	whole := strings.Join(printed, "")
	s.printed = &whole
}

var (
	targetForm = regexp.MustCompile(`(?m)^([a-z][\w ./-]*):`)
	setForm    = regexp.MustCompile(`^[A-Z_]\w*=`)
	partForm   = regexp.MustCompile(`&&|\|\||[|;\n]`)
	flagForm   = regexp.MustCompile(`(?m)^ .*?--([\w-]+)`)
)

// elsewhere are commands that need not be on the machine that tests.
var elsewhere = []string{"xcodebuild", "swift", "cmake", "pip", "sudo", "pkg-config", "clang"}

// requireKnown holds a script to commands, targets and files that there are.
func (s *scene) requireKnown(t *testing.T, b *markdown.Block, script string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", script).CombinedOutput()
	require.NoError(t, err, "%s: %s", b.Where(), out)
	script = strings.ReplaceAll(script, "\\\n", " ")
	script = regexp.MustCompile(`(?m)(^|\s)#.*$`).ReplaceAllString(script, "")
	for part := range slices.Values(partForm.Split(script, -1)) {
		words := strings.Fields(part)
		for len(words) > 0 && (setForm.MatchString(words[0]) || slices.Contains([]string{"export", "sudo", "time"}, words[0])) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		for _, w := range words {
			s.requireFile(t, b, w)
		}
		switch name := filepath.Base(words[0]); name {
		case "make":
			requireTargets(t, b, words[1:])
		case "qtsaccel":
			requireTool(t, b, words[1:])
		default:
			if strings.ContainsAny(words[0], `/"'$<`) || slices.Contains(elsewhere, name) || slices.Contains([]string{"cd", "set", ".", "wait"}, name) {
				continue
			}
			_, err := exec.LookPath(name)
			require.NoError(t, err, "%s: the command %s", b.Where(), name)
		}
	}
}

// requireTargets wants the targets of a call of make to be in the Makefile.
func requireTargets(t *testing.T, b *markdown.Block, words []string) {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	require.NoError(t, err)
	var targets []string
	for _, m := range targetForm.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, strings.Fields(m[1])...)
	}
	for i, w := range words {
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") || i > 0 && words[i-1] == "-C" {
			continue
		}
		require.Contains(t, targets, w, "%s: make %s", b.Where(), w)
	}
}

// requireTool wants the tool to know a command and its options.
func requireTool(t *testing.T, b *markdown.Block, words []string) {
	t.Helper()
	require.NotEmpty(t, words, b.Where())
	help, err := exec.CommandContext(t.Context(), filepath.Join(root(t), "dist", "bin", "qtsaccel"), words[0], "--help").CombinedOutput()
	require.NoError(t, err, "%s: %s", b.Where(), help)
	require.Contains(t, string(help), "qtsaccel "+words[0], b.Where())
	var flags []string
	for _, m := range flagForm.FindAllStringSubmatch(string(help), -1) {
		flags = append(flags, m[1])
	}
	for _, w := range words[1:] {
		if flag, ok := strings.CutPrefix(w, "-"); ok {
			flag, _, _ = strings.Cut(strings.TrimPrefix(flag, "-"), "=")
			require.Contains(t, flags, flag, "%s: qtsaccel %s", b.Where(), words[0])
		}
	}
}

// requireFile wants a word that looks like a path of the tree to be one. What is made
// stands in dist/, an example there under its own name.
func (s *scene) requireFile(t *testing.T, b *markdown.Block, word string) {
	t.Helper()
	word = strings.Trim(strings.TrimPrefix(word, "./"), `"'`)
	top, rest, found := strings.Cut(word, "/")
	if example, ok := strings.CutPrefix(word, "dist/bin/"); ok && example != "qtsaccel" {
		if !strings.Contains(example, "/") {
			example = "c/" + example
		}
		word = fmt.Sprintf("examples/%s.*", example)
	} else if s.over.has(filepath.Join(root(t), word)) || !found || rest == "" || rest == "..." || top == "dist" || strings.ContainsAny(word, "$=<") {
		return
	} else if _, err := os.Stat(filepath.Join(root(t), top)); err != nil || top == "" || top == ".." {
		return
	}
	files, err := filepath.Glob(filepath.Join(root(t), word))
	require.NoError(t, err, b.Where())
	require.NotEmpty(t, files, "%s: there is no %s", b.Where(), word)
}
