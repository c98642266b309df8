package weights

// Match says whether a name is what a pattern says, and what each star stands for: "*"
// is any text, the shortest that will do, and "?" one byte.
func Match(pattern, name string) (stars []string, ok bool) {
	var begin []int // of what each star so far stands for
	var end []int
	p, n, after := 0, 0, 0 // after: what follows the last star in the pattern
	for n < len(name) || p < len(pattern) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			begin, end = append(begin, n), append(end, n)
			p++
			after = p
		case p < len(pattern) && n < len(name) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case len(end) > 0 && end[len(end)-1] < len(name):
			// The last star takes one more; earlier ones need not change.
			end[len(end)-1]++
			p, n = after, end[len(end)-1]
		default:
			return nil, false
		}
	}
	for i := range begin {
		stars = append(stars, name[begin[i]:end[i]])
	}
	return stars, true
}
