package modelfile

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights/weightstest"
)

func TestInspect(t *testing.T) {
	weightstest.LeavesNothing(t)
	c, err := Inspect(shared(t, "stories260k", "stories260K_f32.gguf"))
	require.NoError(t, err)
	require.Len(t, c.Files, 1)
	require.Len(t, c.Tensors, 47)
	require.Equal(t, map[string]int{"f32": 47}, c.DTypes)
	require.EqualValues(t, 4*c.Elements, c.Bytes)
	require.Contains(t, c.Metadata, MetadataInfo{"general.name", "string", "stories260K"})
	require.Contains(t, c.Metadata, MetadataInfo{"llama.block_count", "u32", "5"})
	for _, x := range c.Tensors {
		if x.Name == "blk.0.ffn_down.weight" {
			require.Equal(t, tensor.Shape{64, 172}, x.Shape)
			require.EqualValues(t, 64*172*4, x.Bytes)
		}
		require.LessOrEqual(t, x.Offset+x.Bytes, c.Files[0].Bytes)
	}
	_, err = Inspect(t.TempDir())
	weightstest.RequireError(t, err, status.IO, "is a directory")
}

func TestInspectParts(t *testing.T) {
	weightstest.LeavesNothing(t)
	folder := writeParts(t, three())
	c, err := Inspect(filepath.Join(folder, "mödel x-00001-of-00003.gguf"))
	require.NoError(t, err)
	require.Len(t, c.Files, 3)
	require.Equal(t, 2, c.Tensors[4].File)
	require.Equal(t, []MetadataInfo{{"general.name", "string", "model"}}, c.Metadata)
}
