package guarded

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

func index(of []int, i int) int { return of[i] }

func requirePanic(t *testing.T, err error, words ...string) {
	t.Helper()
	require.Equal(t, status.Internal, status.Of(err), "%v", err)
	for _, w := range append(words, "panic at guarded_test.go:") {
		require.ErrorContains(t, err, w)
	}
}

func TestCallMakesPanicsErrors(t *testing.T) {
	require.NoError(t, Call(func() error { return nil }))
	mine := errors.New("mine")
	require.Equal(t, mine, Call(func() error { return mine }))
	requirePanic(t, Call(func() error { panic("on demand") }), "on demand")
	requirePanic(t, Call(func() error { return fmt.Errorf("%d", index(nil, 3)) }), "index out of range")
	requirePanic(t, Call(func() error {
		*nothing() = 1
		return nil
	}), "nil pointer")
}

func nothing() *int { return nil }

func TestGroupWaitsForAllAndGivesTheFirstError(t *testing.T) {
	var g Group
	ended := make([]bool, 8)
	for i := range ended {
		g.Go(func() error {
			ended[i] = true
			switch i {
			case 0, 1, 2:
				return nil
			case 3:
				panic("the fourth")
			default:
				return fmt.Errorf("number %d", i)
			}
		})
	}
	requirePanic(t, g.Wait(), "the fourth")
	require.NotContains(t, ended, false)
	require.NoError(t, new(Group).Wait())
}

func TestGoTellsHowItEnded(t *testing.T) {
	told := make(chan error)
	Go(func() error { panic("apart") }, func(err error) { told <- err })
	requirePanic(t, <-told, "apart")
	Go(func() error { return nil }, func(err error) { told <- err })
	require.NoError(t, <-told)
}

// No package but this one starts a goroutine: by go, sync.WaitGroup or errgroup.
func TestNoGoroutineIsUnguarded(t *testing.T) {
	files := 0
	for _, root := range []string{"core", "backends", "capi"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				filepath.Base(filepath.Dir(path)) == "guarded" {
				return err
			}
			files++
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, at := range unguarded(f) {
				t.Errorf("%s: a goroutine that package guarded does not start", set.Position(at))
			}
			return nil
		}))
	}
	require.Greater(t, files, 200, "the walk found the project's files")
}

// unguarded finds where a file starts goroutines itself.
func unguarded(f *ast.File) (found []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, n.Pos())
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && (of.Name == "sync" && n.Sel.Name == "WaitGroup" || of.Name == "errgroup") {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

func TestUnguardedGoroutinesAreFound(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import "sync"
func f() {
	go f()
	var g sync.WaitGroup
	g.Go(f)
	func() { go func() {}() }()
}`, parser.SkipObjectResolution)
	require.NoError(t, err)
	require.Len(t, unguarded(f), 3)
}
