package models

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func vadModel(t *testing.T) string {
	t.Helper()
	return shared(t, "silero-vad", "silero_vad_v6.2_16k_from_onnx.safetensors")
}

// listen runs the program on a recording; it gives the probabilities and what was
// printed.
func listen(t *testing.T, recording string, args ...string) ([]float32, string) {
	t.Helper()
	dump := filepath.Join(t.TempDir(), "probs")
	printed := works(t, "vad", append(args, "--model", vadModel(t), "--dump-probs", dump, recording)...)
	text, err := os.ReadFile(dump)
	require.NoError(t, err)
	var probs []float32
	for field := range strings.FieldsSeq(string(text)) {
		p, err := strconv.ParseFloat(field, 32)
		require.NoError(t, err)
		probs = append(probs, float32(p))
	}
	return probs, printed
}

func TestVadIsGolden(t *testing.T) {
	var golden struct{ Probs []float32 }
	readJSON(t, shared(t, "silero-vad", "golden_probs_jfk.json"), &golden)
	onEachBackend(t, func(t *testing.T, backend string) {
		got, _ := listen(t, shared(t, "silero-vad", "jfk.wav"), "--backend", backend)
		requireClose(t, golden.Probs, got, 1e-4)
	})
}

// The stretches are those that get_speech_timestamps_from_probs() of silero-vad
// 6.2.3 makes of the golden probabilities, without padding.
func TestVadFindsSpeech(t *testing.T) {
	recording := shared(t, "silero-vad", "jfk.wav")
	for threshold, want := range map[string][][2]float64{
		"0.1":  {{1024, 47616}, {52224, 176000}},
		"0.3":  {{5120, 36352}, {52224, 70656}, {86528, 122880}, {131072, 169472}},
		"0.5":  {{5632, 35840}, {52736, 70656}, {86528, 122368}, {131072, 169472}},
		"0.8":  {{5632, 35840}, {52736, 60928}, {64000, 70144}, {86528, 121856}, {131072, 167936}},
		"0.95": {{7168, 35328}, {52736, 60416}, {64512, 69632}, {86528, 121856}, {131072, 167936}},
	} {
		t.Run(threshold, func(t *testing.T) {
			var text strings.Builder
			for _, s := range want {
				fmt.Fprintf(&text, "%.3f - %.3f\n", s[0]/16000, s[1]/16000)
			}
			_, printed := listen(t, recording, "--backend", "cpu", "--threshold", threshold)
			require.Equal(t, text.String(), printed)

			var got []struct{ Start, End float64 }
			_, printed = listen(t, recording, "--backend", "cpu", "--threshold", threshold, "--json")
			require.NoError(t, json.Unmarshal([]byte(printed), &got), printed)
			require.Len(t, got, len(want))
			for i, s := range want {
				require.InDelta(t, s[0]/16000, got[i].Start, 0.0006)
				require.InDelta(t, s[1]/16000, got[i].End, 0.0006)
			}
		})
	}
}

// wav makes a recording of floats, one for each channel in turn.
func wav(rate, channels int, samples []float32) []byte {
	data := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(36+4*len(samples)))
	data = append(data, "WAVEfmt \x10\x00\x00\x00\x03\x00"...) // 3: IEEE floats
	data = binary.LittleEndian.AppendUint16(data, uint16(channels))
	data = binary.LittleEndian.AppendUint32(data, uint32(rate))
	data = binary.LittleEndian.AppendUint32(data, uint32(4*rate*channels))
	data = binary.LittleEndian.AppendUint16(data, uint16(4*channels))
	data = binary.LittleEndian.AppendUint16(data, 32)
	data = binary.LittleEndian.AppendUint32(append(data, "data"...), uint32(4*len(samples)))
	for _, s := range samples {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(s))
	}
	return data
}

// jfk gives the samples of the recording, which has a plain header of 44 bytes or
// more before "data".
func jfk(t *testing.T) []float32 {
	t.Helper()
	data, err := os.ReadFile(shared(t, "silero-vad", "jfk.wav"))
	require.NoError(t, err)
	at := strings.Index(string(data), "data")
	require.Positive(t, at)
	data = data[at+8:]
	samples := make([]float32, len(data)/2)
	for i := range samples {
		samples[i] = float32(int16(binary.LittleEndian.Uint16(data[2*i:]))) / 32768
	}
	return samples
}

func TestVadAveragesChannels(t *testing.T) {
	mono := jfk(t)[:40000]
	want, _ := listen(t, write(t, "mono.wav", wav(16000, 1, mono)), "--backend", "cpu")
	require.Len(t, want, 79) // 40000 / 512, rounded up
	var stereo []float32
	for i, s := range mono {
		other := float32(math.Sin(0.03*float64(i))) / 4
		stereo = append(stereo, s+other, s-other)
	}
	got, _ := listen(t, write(t, "stereo.wav", wav(16000, 2, stereo)), "--backend", "cpu")
	requireClose(t, want, got, 1e-4)
}

func TestVadHearsNothing(t *testing.T) {
	probs, printed := listen(t, write(t, "empty.wav", wav(16000, 1, nil)), "--backend", "cpu")
	require.Empty(t, probs)
	require.Empty(t, printed)

	_, printed = listen(t, write(t, "silence.wav", wav(16000, 1, make([]float32, 16000))), "--backend", "cpu", "--json")
	require.Equal(t, "[]\n", printed)
}

func TestVadErrors(t *testing.T) {
	recording, model := shared(t, "silero-vad", "jfk.wav"), vadModel(t)
	missing := filepath.Join(t.TempDir(), "missing")
	text := write(t, "text.wav", []byte("no sound, only words"))
	fast := write(t, "fast.wav", wav(44100, 1, make([]float32, 4410)))
	for name, c := range map[string]struct {
		words []string
		args  []string
	}{
		"missing recording": {[]string{missing}, []string{"--model", model, missing}},
		"no recording":      {[]string{text}, []string{"--model", model, text}},
		"another rate":      {[]string{fast, "44100", "16000"}, []string{"--model", model, fast}},
		"no number": {
			[]string{"sample 600 is no number"},
			[]string{"--model", model, "--backend", "cpu", write(t, "nan.wav", wav(16000, 1, append(make([]float32, 600), float32(math.NaN()))))},
		},
		"missing model":     {[]string{missing}, []string{"--model", missing, recording}},
		"foreign model":     {[]string{"stft_conv.weight"}, []string{"--model", shared(t, "stories260k", "stories260K_f32.safetensors"), recording}},
		"model of no kind":  {[]string{text}, []string{"--model", text, recording}},
		"unknown backend":   {[]string{"abacus"}, []string{"--model", model, "--backend", "abacus", recording}},
		"unwritable dump":   {[]string{"cannot write /nowhere/x"}, []string{"--model", model, "--dump-probs", "/nowhere/x", recording}},
		"threshold too big": {[]string{"--threshold", "1.5"}, []string{"--threshold", "1.5", recording}},
		"nothing to hear":   {[]string{"usage"}, nil},
		"two recordings":    {[]string{"usage"}, []string{recording, recording}},
	} {
		t.Run(name, func(t *testing.T) { fails(t, c.words, "vad", c.args...) })
	}
}
