package models

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const vocabulary, begin = 512, 1

// golden is the greedy continuation of the token that begins a text.
type golden struct {
	Tokens []int
	Text   string
}

func readGolden(t *testing.T) golden {
	t.Helper()
	var g golden
	readJSON(t, shared(t, "stories260k", "golden_greedy_tokens.json"), &g)
	return g
}

func story(t *testing.T, file string) string { t.Helper(); return shared(t, "stories260k", file) }

func readTokens(t *testing.T, path string) []int {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var tokens []int
	for field := range strings.FieldsSeq(string(text)) {
		token, err := strconv.Atoi(field)
		require.NoError(t, err)
		tokens = append(tokens, token)
	}
	return tokens
}

func TestStoryIsGolden(t *testing.T) {
	want := readGolden(t)
	logits := readFloats(t, story(t, "golden_logits_64x512_f32.bin"))
	onEachBackend(t, func(t *testing.T, backend string) {
		for _, model := range []string{"stories260K_f32.gguf", "stories260K_f32.safetensors"} {
			t.Run(filepath.Ext(model)[1:], func(t *testing.T) {
				dir := t.TempDir()
				dumpTokens, dumpLogits := filepath.Join(dir, "tokens"), filepath.Join(dir, "logits")
				text := works(t, "story", "--backend", backend, "--model", story(t, model),
					"--tokens", strconv.Itoa(len(want.Tokens)-1), "--dump-tokens", dumpTokens, "--dump-logits", dumpLogits)
				require.Equal(t, want.Text+"\n", text)
				require.Equal(t, want.Tokens, readTokens(t, dumpTokens))

				got := readFloats(t, dumpLogits)
				require.Len(t, got, vocabulary*(len(want.Tokens)-1))
				requireClose(t, logits, got[:len(logits)], 1e-4)
			})
		}
	})
}

// The words with which the golden text begins lead to the rest of it.
func TestStoryContinuesPrompt(t *testing.T) {
	want := readGolden(t)
	const prompt, promptTokens = "Once upon a time", 5
	dump := filepath.Join(t.TempDir(), "tokens")
	text := works(t, "story", "--backend", "cpu", "--model", story(t, "stories260K_f32.gguf"),
		"--tokens", strconv.Itoa(len(want.Tokens)-promptTokens), "--dump-tokens", dump, prompt)
	require.Equal(t, want.Tokens, readTokens(t, dump))
	require.Equal(t, want.Text+"\n", text)
}

// Whatever the prompt is, it comes out as it went in.
func TestStoryKeepsPrompt(t *testing.T) {
	for _, prompt := range []string{
		" two  spaces", "Tab\tand\nline", "naïve café, 漢字 and 🙂", "broken \xff\xc3 bytes", strings.Repeat("Lily ", 60),
	} {
		text := works(t, "story", "--backend", "cpu", "--model", story(t, "stories260K_f32.gguf"), "--tokens", "3", prompt)
		require.True(t, strings.HasPrefix(text, prompt), "%q from %q", text, prompt)
	}
}

func TestStoryEndsWithContext(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "tokens")
	works(t, "story", "--backend", "cpu", "--model", story(t, "stories260K_f32.gguf"), "--tokens", "512", "--dump-tokens", dump)
	tokens := readTokens(t, dump)
	require.Equal(t, readGolden(t).Tokens, tokens[:len(readGolden(t).Tokens)])
	if last := tokens[len(tokens)-1]; last != begin && last != begin+1 {
		require.Len(t, tokens, 513)
	}
}

func TestStoryErrors(t *testing.T) {
	model, tokens := story(t, "stories260K_f32.gguf"), story(t, "tok512.bin")
	foreign := shared(t, "silero-vad", "silero_vad_v6.2_16k_from_onnx.safetensors")
	garbage := write(t, "garbage.gguf", []byte("no weights at all"))
	tokenizer, err := os.ReadFile(tokens)
	require.NoError(t, err)
	missing := filepath.Join(t.TempDir(), "missing")

	for name, c := range map[string]struct {
		words []string
		args  []string
	}{
		"missing model":      {[]string{missing}, []string{"--model", missing, "--tokenizer", tokens}},
		"garbage model":      {[]string{garbage}, []string{"--model", garbage, "--tokenizer", tokens}},
		"foreign model":      {[]string{"token_embd.weight"}, []string{"--model", foreign, "--tokenizer", tokens}},
		"missing tokenizer":  {[]string{missing, "No such file"}, []string{"--model", model, "--tokenizer", missing}},
		"no tokenizer":       {[]string{"tok512.bin"}, []string{"--model", garbage}},
		"short tokenizer":    {[]string{"ends too early"}, []string{"--model", model, "--tokenizer", write(t, "t", tokenizer[:1000])}},
		"long tokenizer":     {[]string{"more than 512"}, []string{"--model", model, "--tokenizer", write(t, "t", append(tokenizer, 0))}},
		"foreign tokenizer":  {[]string{"no tokenizer"}, []string{"--model", model, "--tokenizer", foreign}},
		"long prompt":        {[]string{"602 tokens", "512"}, []string{"--model", model, strings.Repeat("漢", 200)}},
		"endless prompt":     {[]string{"too long"}, []string{"--model", model, strings.Repeat("x", 100000)}},
		"unknown backend":    {[]string{"abacus", "reference"}, []string{"--model", model, "--backend", "abacus"}},
		"unwritable dump":    {[]string{"cannot write /nowhere/x"}, []string{"--model", model, "--dump-logits", "/nowhere/x"}},
		"no tokens":          {[]string{"--tokens", "1 to 512"}, []string{"--tokens", "0"}},
		"no number":          {[]string{"--tokens", `"many"`}, []string{"--tokens", "many"}},
		"no value":           {[]string{"--tokens needs a value"}, []string{"--tokens"}},
		"unknown option":     {[]string{"--frobnicate", "usage"}, []string{"--frobnicate"}},
		"prompt in two args": {[]string{"upon", "usage"}, []string{"Once", "upon"}},
	} {
		t.Run(name, func(t *testing.T) { fails(t, c.words, "story", c.args...) })
	}
}
