package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const promisesPage = "tests/README.md"

var (
	rowForm   = regexp.MustCompile(`(?m)^\| (.+) \| (.+) \|$`)
	placeForm = regexp.MustCompile("`([^`]+)`(?: \\(([^)]*)\\))?")
	testName  = regexp.MustCompile(`\bTest[A-Z]\w*`)
	// The essay at the header's beginning, and the titles of its parts.
	essayForm = regexp.MustCompile(`(?m)^ \* ([A-Z]{2,}(?: [A-Z]{2,})*)(?:\.| )`)
	titleForm = regexp.MustCompile(`(?m)^/\* -+ (.+) -- \*/$`)
	// The README's promises.
	promiseForm = regexp.MustCompile(`(?m)^\d\. \*\*(.+)\.\*\*`)
)

// Every promise has a test, which is there.
func TestEveryPromiseHasATest(t *testing.T) {
	page := file(t, promisesPage)
	rows := 0
	for _, row := range rowForm.FindAllStringSubmatch(page, -1) {
		promise, tests := row[1], row[2]
		if tests == "test" || strings.HasPrefix(tests, "---") {
			continue
		}
		rows++
		places := placeForm.FindAllStringSubmatch(tests, -1)
		require.NotEmpty(t, places, promise)
		for _, place := range places {
			requirePlace(t, promise, place[1], testName.FindAllString(place[2], -1))
		}
	}
	require.Greater(t, rows, 50)
}

// requirePlace wants a target of make, or a file or folder that a test is in or runs,
// with tests of such names.
func requirePlace(t *testing.T, promise, place string, names []string) {
	t.Helper()
	if target, ok := strings.CutPrefix(place, "make "); ok {
		rule := regexp.MustCompile(`(?m)^[\w -]*\b` + regexp.QuoteMeta(target) + `\b[\w -]*:`)
		require.True(t, rule.MatchString(file(t, "Makefile")), "%s: there is no %s", promise, place)
		return
	}
	found, err := filepath.Glob(filepath.Join(root(t), place))
	require.NoError(t, err)
	require.NotEmpty(t, found, "%s: there is no %s", promise, place)
	// What tests are in the folder, or in the one over those of its programs.
	folder := place
	if info, err := os.Stat(found[0]); err == nil && !info.IsDir() {
		folder = filepath.Dir(place)
	}
	folder = strings.TrimSuffix(folder, "/programs")
	folder = strings.TrimSuffix(folder, "/testdata")
	tests, err := filepath.Glob(filepath.Join(root(t), folder, "*test*"))
	require.NoError(t, err)
	require.NotEmpty(t, tests, "%s: no test is in %s", promise, folder)
	var text strings.Builder
	for _, name := range tests {
		if content, err := os.ReadFile(name); err == nil {
			text.Write(content)
		}
	}
	for _, name := range names {
		require.Contains(t, text.String(), "func "+name+"(", "%s: %s", promise, place)
	}
	// A program that no test runs holds nothing.
	for _, program := range found {
		if strings.HasSuffix(program, ".c") {
			name := strings.TrimSuffix(filepath.Base(program), ".c")
			require.Contains(t, text.String(), `"`+name, "%s: no test runs %s", promise, program)
		}
	}
}

// Nothing that the README and the header promise is left out.
func TestNoPromiseIsLeftOut(t *testing.T) {
	page := file(t, promisesPage)
	header := file(t, "include/qtsaccel.h")
	essay, _, _ := strings.Cut(header, "*/")
	var wanted []string
	for kind, found := range map[string][][]string{
		"R": promiseForm.FindAllStringSubmatch(file(t, "README.md"), -1),
		"H": append(essayForm.FindAllStringSubmatch(essay, -1), titleForm.FindAllStringSubmatch(header, -1)...),
	} {
		require.NotEmpty(t, found, kind)
		for _, f := range found {
			wanted = append(wanted, kind+", "+f[1])
		}
	}
	require.Greater(t, len(wanted), 25)
	slices.Sort(wanted)
	for _, w := range wanted {
		kind, name, _ := strings.Cut(w, ", ")
		line := regexp.MustCompile(`(?m)^\| ` + kind + `, ([A-Z ]+, )?` + regexp.QuoteMeta(name) + `[:, |]`)
		require.True(t, line.MatchString(page), "%s has no line for %s", promisesPage, w)
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), name))
	require.NoError(t, err)
	return string(text)
}
