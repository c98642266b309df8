package docs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is shown of CMake configures, and builds, against an installation.
func TestCMake(t *testing.T) {
	if os.Getenv("QTSACCEL_TEST_INSTALL") != "1" {
		t.Skip("it takes an installation: make test-install runs it")
	}
	prefix := filepath.Join(t.TempDir(), "prefix")
	output(t, root(t), os.Environ(), "make", "-s", "install", "DESTDIR="+prefix, "PREFIX=")
	count := 0
	for _, p := range pages(t) {
		for i := range p.Blocks {
			b := &p.Blocks[i]
			if b.Lang != "cmake" {
				continue
			}
			count++
			dir := t.TempDir()
			text := "cmake_minimum_required(VERSION 3.16)\nproject(page C CXX)\n" + b.Notes["given"] + "\n" + b.Text
			require.NoError(t, os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(text), 0o600))
			program := "#include <qtsaccel.h>\nint main(void) { return qtsa_version() < 0; }\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte(program), 0o600))
			build := filepath.Join(dir, "build")
			t.Log(b.Where())
			output(t, dir, os.Environ(), "cmake", "-S", dir, "-B", build, "-DCMAKE_PREFIX_PATH="+prefix)
			output(t, dir, os.Environ(), "cmake", "--build", build)
			output(t, dir, os.Environ(), filepath.Join(build, "program"))
		}
	}
	require.Positive(t, count)
}
