package docs

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

// needPython skips where there is no Python with numpy.
func needPython(t *testing.T) string {
	t.Helper()
	path := filepath.Join(root(t), "dist", "venv", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		t.Skip("dist/venv is not there: make dist/venv/.made")
	}
	return path
}

// python is an interpreter that runs the blocks of a page.
type python struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// interpret runs a block, after those before it on the page.
func (s *scene) interpret(t *testing.T, b *markdown.Block) *string {
	t.Helper()
	program := needPython(t)
	if s.python == nil {
		cmd := exec.Command(program, filepath.Join(root(t), "tests", "docs", "testdata", "session.py"))
		cmd.Dir, cmd.Env, cmd.Stderr = s.dir, environment(s.t), os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		s.python = &python{cmd, in, bufio.NewReader(out)}
	}
	text := b.Notes["given"] + "\n" + b.Text
	require.NoError(t, json.NewEncoder(s.python.in).Encode([]any{b.Page.Path, max(b.Line-1, 1), text}))
	line, err := s.python.out.ReadBytes('\n')
	require.NoError(t, err)
	var answer [2]string // what it printed, how it failed
	require.NoError(t, json.Unmarshal(line, &answer))
	require.Empty(t, answer[1], "%s failed", b.Where())
	return &answer[0]
}

func (p *python) end(t *testing.T) {
	t.Helper()
	require.NoError(t, p.in.Close())
	require.NoError(t, p.cmd.Wait())
}
