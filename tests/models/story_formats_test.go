package models

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/modelfile"
	"qtsaccel/core/tensor"
)

// saveStory saves the story's weights in another type where it fits, from either
// format.
func saveStory(t *testing.T, from string, rules ...modelfile.Rule) string {
	t.Helper()
	w, err := modelfile.Open(story(t, from), modelfile.Options{Rules: rules})
	require.NoError(t, err)
	defer w.Release()
	path := filepath.Join(t.TempDir(), "story.gguf")
	require.NoError(t, modelfile.Save(w, path, nil, nil))
	return path
}

// What was saved tells the same story, and less precise weights one whose logits
// are near as long as the same tokens lead there. The rows of 172 of ffn_down are
// f16 where the others are in blocks.
func TestStoryFromSavedWeights(t *testing.T) {
	want := readGolden(t)
	logits := readFloats(t, story(t, "golden_logits_64x512_f32.bin"))
	const most = 63 // positions with golden logits, but the first token's own
	for _, c := range []struct {
		name, model string
		same        int // tokens at least
		logits      float64
	}{
		{"from safetensors", saveStory(t, "stories260K_f32.safetensors"), most, 1e-4},
		{"f16", saveStory(t, "stories260K_f32.gguf", modelfile.Rule{Pattern: "*", DType: tensor.F16}), most, 0.05},
		{"q8_0", saveStory(t, "stories260K_f32.gguf", modelfile.Rule{Pattern: "*", DType: tensor.Q8_0}), 20, 0.6},
		{"q5_1", saveStory(t, "stories260K_f32.gguf", modelfile.Rule{Pattern: "*", DType: tensor.Q5_1}), 8, 2.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEachBackend(t, func(t *testing.T, backend string) {
				dir := t.TempDir()
				dumpTokens, dumpLogits := filepath.Join(dir, "tokens"), filepath.Join(dir, "logits")
				text := works(t, "story", "--backend", backend, "--model", c.model, "--tokenizer", story(t, "tok512.bin"),
					"--tokens", strconv.Itoa(most), "--dump-tokens", dumpTokens, "--dump-logits", dumpLogits)
				tokens, got := readTokens(t, dumpTokens), readFloats(t, dumpLogits)
				same := 0
				for same < most && tokens[same+1] == want.Tokens[same+1] {
					same++
				}
				worst := 0.0
				for i := range min(same+1, most) * vocabulary {
					worst = max(worst, float64(got[i]-logits[i]), float64(logits[i]-got[i]))
				}
				t.Logf("%d tokens the same, logits off by %.3g: %s", same, worst, text)
				require.GreaterOrEqual(t, same, c.same)
				require.LessOrEqual(t, worst, c.logits)
			})
		})
	}
}
