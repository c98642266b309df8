package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const headerFile = "../../include/qtsaccel.h"

// What is committed is what the generator makes of the header as it is.
func TestCommittedFilesAreFresh(t *testing.T) {
	files, err := generate(headerFile)
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s: run `go generate ./capi`", name)
	}
}

// Programs compiled against the header as it was go on working.
func TestInterfaceIsKept(t *testing.T) {
	recorded, err := os.ReadFile("../../include/qtsaccel.abi")
	require.NoError(t, err)
	text, err := os.ReadFile(headerFile)
	require.NoError(t, err)
	now := func(text string) []byte {
		h, err := parse(text)
		require.NoError(t, err)
		lines, err := abi(h)
		require.NoError(t, err)
		return lines
	}
	require.Greater(t, len(strings.Split(string(recorded), "\n")), 100)
	require.Empty(t, broken(recorded, now(string(text))), "before the first release: make abi")
	require.Empty(t, broken(now(string(text)), recorded), "what is new is not recorded: make abi")

	// It tells when something changes, and only then.
	for change, tells := range map[[2]string]string{
		{"QTSA_ERR_BUSY = -11", "QTSA_ERR_BUSY = -21"}:                                            "value QTSA_ERR_BUSY -11",
		{"    int32_t threads;\n", "    int64_t threads;\n"}:                                      "field qtsa_backend_options.threads int32_t[1] at 24",
		{"qtsa_graph_free(qtsa_graph graph)", "qtsa_graph_free(qtsa_graph graph, int32_t how)"}:   "function qtsa_status qtsa_graph_free(qtsa_graph)",
		{"    uint64_t download_ns;\n", "    uint64_t download_ns;\n    uint64_t other_ns;\n"}:    "size qtsa_timing 24",
		{"} qtsa_plan_options;", "    int64_t more;\n} qtsa_plan_options;"}:                       "",
		{"/* Sets all state of the session to zero", "enum { QTSA_NEW = 1 };\n/* Sets all state"}: "",
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		require.NotEqual(t, string(text), changed, change[0])
		gone := strings.Join(broken(recorded, now(changed)), "\n")
		if tells == "" {
			require.Empty(t, gone)
		} else {
			require.Contains(t, gone, tells)
		}
	}
}

// What the first version's header promised holds, too.
func TestFirstVersionIsKept(t *testing.T) {
	var lines [2][]byte
	for i, file := range []string{"../../tests/abi/first/qtsaccel.h", headerFile} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		h, err := parse(string(text))
		require.NoError(t, err)
		lines[i], err = abi(h)
		require.NoError(t, err)
	}
	require.Greater(t, bytes.Count(lines[0], []byte("function ")), 40)
	require.Empty(t, broken(lines[0], lines[1]))
}

// The header has fewer than 65 functions: what could be one is not two.
func TestFunctionsAreFew(t *testing.T) {
	h := parsed(t, "")
	t.Logf("%d functions", len(h.functions))
	require.Less(t, len(h.functions), 65)
}

// parsed reads the header, with a change of its text, from and to.
func parsed(t *testing.T, from string, to ...string) *header {
	t.Helper()
	text, err := os.ReadFile(headerFile)
	require.NoError(t, err)
	changed := string(text)
	if from != "" {
		changed = strings.Replace(changed, from, to[0], 1)
		require.NotEqual(t, string(text), changed, from)
	}
	h, err := parse(changed)
	require.NoError(t, err)
	return h
}

// What the header has is behind it and in every binding, or is left out for a reason.
func TestNothingIsMissing(t *testing.T) {
	h := parsed(t, "")
	var all []string
	for i := range places {
		missing, err := places[i].uncovered(h, "../..")
		require.NoError(t, err)
		all = append(all, missing...)
	}
	require.Empty(t, all, "write it, or say in coverage.go why not")
}

// What is new in the header is named by every place that lacks it.
func TestWhatIsNewIsMissed(t *testing.T) {
	const options = "} qtsa_run_options;"
	for what, h := range map[string]*header{
		"qtsa_run_options.deadline_ns": parsed(t, options, "    uint64_t deadline_ns;\n"+options),
		"qtsa_session_pause":           parsed(t, "/* Sets all state of", "QTSA_API qtsa_status qtsa_session_pause(qtsa_session session);\n/* Sets all state of"),
	} {
		for i := range places {
			missing, err := places[i].uncovered(h, "../..")
			require.NoError(t, err)
			require.Equal(t, []string{places[i].name + " lacks " + what}, missing)
		}
	}
	h := parsed(t, "QTSA_ACTIVATION_TANH = 6", "QTSA_ACTIVATION_TANH = 6,\n    QTSA_ACTIVATION_MISH = 7")
	for i := range places {
		missing, err := places[i].uncovered(h, "../..")
		require.NoError(t, err)
		if places[i].name == "C++" { // which takes values as they are
			require.Empty(t, missing)
		} else {
			require.Equal(t, []string{places[i].name + " lacks QTSA_ACTIVATION_MISH"}, missing)
		}
	}
}

func TestParse(t *testing.T) {
	h, err := parse(`
#define QTSA_API __attribute__((visibility("default")))
/* A handle; QTSA_API in a comment is no function. */
typedef struct qtsa_box_s *qtsa_box;
enum { QTSA_A = 1, /* one */ QTSA_B = -2 };
QTSA_API const char *qtsa_words(void);
QTSA_API qtsa_status qtsa_box_open(const char *path, qtsa_box other,
                                   qtsa_box *out_box, size_t *out_n);
`)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"qtsa_box": true}, h.handles)
	require.Equal(t, []enumerator{{"QTSA_A", 1}, {"QTSA_B", -2}}, h.enumerated)
	require.Equal(t, []function{
		{result: "const char *", name: "qtsa_words"},
		{result: "qtsa_status", name: "qtsa_box_open", params: []param{
			{"const char *", "path"}, {"qtsa_box", "other"}, {"qtsa_box *", "out_box"}, {"size_t *", "out_n"},
		}},
	}, h.functions)
}

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for says, text := range map[string]string{
		"stands 2 times, but 1 functions": "QTSA_API int qtsa_a(int x);\nQTSA_API int qtsa_b = 3;",
		"has no name":                     "QTSA_API qtsa_status qtsa_a(int);",
		"is no pointer":                   "QTSA_API qtsa_status qtsa_a(int out_x);",
		"behind an out parameter":         "QTSA_API qtsa_status qtsa_a(int *out_x, int y);",
		"gives no status":                 "QTSA_API int qtsa_a(int *out_x);",
		"points to a handle":              "typedef struct qtsa_h_s *qtsa_h;\nQTSA_API qtsa_status qtsa_a(qtsa_h *h);",
		"has not the form NAME = number":  "enum { QTSA_A };\nQTSA_API int qtsa_a(void);",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, says)
	}
}

func TestNameTablesRefuseDisagreement(t *testing.T) {
	text, err := os.ReadFile(headerFile)
	require.NoError(t, err)
	good, err := parse(string(text))
	require.NoError(t, err)
	for says, change := range map[string]func(e []enumerator) []enumerator{
		"core calls":           func(e []enumerator) []enumerator { e[1].value = -3; return e },
		"is not in the header": func(e []enumerator) []enumerator { return append(e[:1], e[2:]...) },
	} {
		bad := &header{enumerated: change(append([]enumerator(nil), good.enumerated...))}
		_, err := nameTables(bad)
		require.ErrorContains(t, err, says)
	}
}

// The reference has every name of the header, once, and each comment of it.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(headerFile)
	require.NoError(t, err)
	h, err := parse(string(text))
	require.NoError(t, err)
	pages, err := reference(string(text))
	require.NoError(t, err)
	var whole strings.Builder
	for _, page := range pages {
		whole.WriteString(page)
	}
	all := whole.String()
	declared := func(form string, names ...any) {
		t.Helper()
		line := regexp.MustCompile(`(?m)^ *(\.\. c:\w+:: +)?` + fmt.Sprintf(form, names...) + `$`)
		require.Len(t, line.FindAllString(all, -1), 1, "%v", line)
	}
	for _, f := range h.functions {
		declared(`[^\n]*[ *]%s\(.*\)`, f.name)
	}
	for _, c := range h.types.callbacks {
		declared(`.*\(\*%s\)\(.*\)`, c.name)
	}
	for name := range h.handles {
		declared(`%s`, name)
	}
	for _, a := range h.types.aliases {
		declared(`%s %s`, a.typ, a.name)
	}
	for _, e := range h.enumerated {
		declared(`%s = %d`, e.name, e.value)
	}
	for _, c := range h.types.constants {
		declared(`%s`, c.name)
	}
	for _, s := range h.types.structs {
		declared(`%s`, s.name)
	}

	// The text of the comments, as words.
	words := func(s string) []string { return regexp.MustCompile(`[A-Za-z]{3,}`).FindAllString(s, -1) }
	have := map[string]int{}
	for _, w := range words(all) {
		have[strings.ToLower(w)]++
	}
	for _, comment := range commentForm.FindAllString(string(text), -1) {
		for _, w := range words(comment) {
			have[strings.ToLower(w)]--
		}
	}
	for _, comment := range commentForm.FindAllString(string(text), -1) {
		for _, w := range words(comment) {
			require.GreaterOrEqual(t, have[strings.ToLower(w)], 0, "%q of %.60q is lost", w, comment)
		}
	}
}

func TestSections(t *testing.T) {
	found, err := sections(`/* About all. */
/* ------ One -- */
/*
 * Two of a kind:
 *
 *     x = y
 */
QTSA_API int qtsa_a(void);
QTSA_API int qtsa_b(int x,
                    int y);

QTSA_API int qtsa_c(void);
typedef struct qtsa_s {
    int a; /* its own, with a comma; and more */
    /* Of both. */
    int b;
    int c[2];
} qtsa_s;
enum { QTSA_A = 1, /* first */ QTSA_B = 2 /* last */ };
`)
	require.NoError(t, err)
	require.Equal(t, []section{
		{"", []item{{comment: []string{"About all."}}}},
		{"One", []item{
			{
				comment: []string{"Two of a kind:", "    x = y"},
				code:    []string{"QTSA_API int qtsa_a(void)", "QTSA_API int qtsa_b(int x, int y)"},
			},
			{code: []string{"QTSA_API int qtsa_c(void)"}},
			{code: []string{"struct qtsa_s"}, members: []item{
				{comment: []string{"its own, with a comma; and more"}, code: []string{"int a"}},
				{comment: []string{"Of both."}, code: []string{"int b", "int c[2]"}},
			}},
			{code: []string{"enum"}, members: []item{
				{comment: []string{"first"}, code: []string{"QTSA_A = 1"}},
				{comment: []string{"last"}, code: []string{"QTSA_B = 2"}},
			}},
		}},
	}, found)
}
