package weights

import "fmt"

// What a suggestion may cost: a name longer than that, and names beyond that
// many, are not compared.
const (
	maxComparedName  = 128
	maxComparedNames = 10_000
)

// suggestion ends a message about an unknown name with the known one that takes
// the fewest changed, added and dropped bytes, if it is near. The caller holds
// w.mu.
func (w *Weights) suggestion(name string) string {
	if len(name) > maxComparedName {
		return ""
	}
	best, limit := "", max(2, len(name)/4)+1
	for _, t := range w.tensors[:min(len(w.tensors), maxComparedNames)] {
		if d := distance(name, t.Name, limit); d < limit {
			best, limit = t.Name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the Levenshtein distance, or limit where it is not below that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1) // distances of a[:i] to each b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		least := row[0]
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least >= limit {
			return limit
		}
	}
	return min(row[len(b)], limit)
}
