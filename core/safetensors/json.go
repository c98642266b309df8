package safetensors

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"qtsaccel/core/tensorfile"
)

// scanner reads the JSON of a header once, in order. encoding/json would hide
// what this format forbids, a key that is there twice, and where it was. Strings
// without escapes come out as parts of the text, uncopied.
type scanner struct {
	text string
	pos  int
	base int64 // where text lies in the file
}

// maxNesting bounds values of unknown keys, the only ones that may nest.
const maxNesting = 64

// at is the offset in the file of what comes next.
func (s *scanner) at() int64 { return s.base + int64(s.pos) }

func (s *scanner) errorf(format string, args ...any) error {
	return tensorfile.Corruptf(s.at(), format, args...)
}

// peek gives the next byte that is no white space, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// expect passes one byte.
func (s *scanner) expect(want byte, where string) error {
	if got := s.peek(); got != want || s.pos == len(s.text) {
		return s.unexpected(strconv.QuoteRune(rune(want)), where)
	}
	s.pos++
	return nil
}

func (s *scanner) unexpected(want, where string) error {
	s.peek()
	if s.pos == len(s.text) {
		return s.errorf("the text ends where %s is to follow, in %s", want, where)
	}
	r, n := utf8.DecodeRuneInString(s.text[s.pos:])
	if r == utf8.RuneError && n == 1 {
		return s.errorf("the byte %#02x, which is not UTF-8, stands for %s, in %s", s.text[s.pos], want, where)
	}
	return s.errorf("%q stands for %s, in %s", r, want, where)
}

// list passes what lies between two brackets, separated by commas; one reads one
// element.
func (s *scanner) list(open, end byte, where string, one func() error) error {
	if err := s.expect(open, where); err != nil {
		return err
	}
	if s.peek() == end {
		s.pos++
		return nil
	}
	for {
		if err := one(); err != nil {
			return err
		}
		if s.peek() == end {
			s.pos++
			return nil
		}
		if err := s.expect(',', where); err != nil {
			return err
		}
	}
}

// object passes an object; member reads the value of a key, which began at an
// offset in the file.
func (s *scanner) object(where string, member func(key string, at int64) error) error {
	return s.list('{', '}', where, func() error {
		s.peek()
		at := s.at()
		key, err := s.str(where)
		if err != nil {
			return err
		}
		if err := s.expect(':', where); err != nil {
			return err
		}
		return member(key, at)
	})
}

// str passes a string.
func (s *scanner) str(where string) (string, error) {
	if s.peek() != '"' {
		return "", s.unexpected("a string", where)
	}
	begin, escaped := s.pos+1, false
	for i := begin; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			s.pos = i
			return "", s.errorf("a string has the control character %#02x, in %s", c, where)
		case c == '"':
			s.pos = begin
			raw := s.text[begin:i]
			if !utf8.ValidString(raw) {
				return "", s.errorf("the string %.200q is not UTF-8", raw)
			}
			if escaped {
				var ok bool
				if raw, ok = unescapeAll(raw); !ok {
					return "", s.errorf("the string %.200q has a wrong escape, in %s", raw, where)
				}
			}
			s.pos = i + 1
			return raw, nil
		}
	}
	return "", s.errorf("a string does not end, in %s", where)
}

// unescapeAll gives what a string with escapes stands for, or what begins with a
// wrong one.
func unescapeAll(raw string) (string, bool) {
	var b strings.Builder
	// Never too little: an escape is a byte less than it is written, or more. Of two
	// backslashes that follow each other, one is escaped.
	b.Grow(len(raw) - strings.Count(raw, `\`) + strings.Count(raw, `\\`))
	for {
		i := strings.IndexByte(raw, '\\')
		if i < 0 {
			b.WriteString(raw)
			return b.String(), true
		}
		b.WriteString(raw[:i])
		r, n := unescape(raw[i:])
		if n == 0 {
			return raw[i:], false
		}
		b.WriteRune(r)
		raw = raw[i+n:]
	}
}

// unescape reads the escape that t begins with, a backslash and at least a byte
// more, and gives its length: 0 if it is wrong, as half a surrogate pair is.
func unescape(t string) (rune, int) {
	if i := strings.IndexByte(`"\/bfnrt`, t[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := hex4(t)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	low, ok := hex4(t[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// hex4 reads \uXXXX.
func hex4(t string) (rune, bool) {
	if len(t) < 6 || t[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(t[2:6], 16, 16)
	return rune(n), err == nil
}

// count passes a whole number that is not negative and fits in an int64.
func (s *scanner) count(where string) (int64, error) {
	s.peek()
	begin := s.pos
	n := int64(0)
	for ; s.pos < len(s.text); s.pos++ {
		digit := int64(s.text[s.pos]) - '0'
		if digit < 0 || digit > 9 {
			break
		}
		if n > (math.MaxInt64-digit)/10 {
			s.pos = begin
			return 0, s.errorf("a number is 2^63 or more, in %s", where)
		}
		n = n*10 + digit
	}
	if s.pos == begin {
		return 0, s.unexpected("a whole number that is not negative", where)
	}
	if s.text[begin] == '0' && s.pos-begin > 1 {
		s.pos = begin
		return 0, s.errorf("a number begins with 0, in %s", where)
	}
	return n, nil
}

// skip passes any value.
func (s *scanner) skip(where string, nesting int) error {
	if nesting > maxNesting {
		return s.errorf("values are nested deeper than %d, in %s", maxNesting, where)
	}
	switch s.peek() {
	case '{':
		return s.object(where, func(string, int64) error { return s.skip(where, nesting+1) })
	case '[':
		return s.list('[', ']', where, func() error { return s.skip(where, nesting+1) })
	case '"':
		_, err := s.str(where)
		return err
	}
	end := s.pos
	for end < len(s.text) && strings.IndexByte(" \t\n\r,:]}", s.text[end]) < 0 {
		end++
	}
	if word := s.text[s.pos:end]; word == "true" || word == "false" || word == "null" || number(word) {
		s.pos = end
		return nil
	}
	return s.unexpected("a value", where)
}

// number says whether a word is a JSON number: -?int(.digits)?([eE][+-]?digits)?
func number(word string) bool {
	t := strings.TrimPrefix(word, "-")
	whole := digits(t)
	if whole == 0 || whole > 1 && t[0] == '0' {
		return false
	}
	t = t[whole:]
	if strings.HasPrefix(t, ".") {
		n := digits(t[1:])
		if n == 0 {
			return false
		}
		t = t[1+n:]
	}
	if t != "" && (t[0] == 'e' || t[0] == 'E') {
		t = t[1:]
		if t != "" && (t[0] == '+' || t[0] == '-') {
			t = t[1:]
		}
		n := digits(t)
		return n > 0 && n == len(t)
	}
	return t == ""
}

// digits is how many digits t begins with.
func digits(t string) int {
	n := 0
	for n < len(t) && t[n] >= '0' && t[n] <= '9' {
		n++
	}
	return n
}
