package recovery

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the figures instead of comparing with them")

// What came out when the file was written; client-go draws its delays, so that it is never quite the same.
var figures = table{path: "figures.tsv"}

type table struct {
	path string
	// The lines that were written in this run.
	written []string
}

// A figure, and how far another run's may be from it: a share of it, or so much.
type figure struct {
	value, share, slack float64
}

// Compares figures with those that are known, or makes them known. What is said besides is not compared.
func (f *table) note(t *testing.T, about, name string, found []figure, besides string) {
	t.Helper()
	key := about + "\t" + name + "\t"
	line := key
	for _, figure := range found {
		line += fmt.Sprintf("%.1f\t", figure.value)
	}
	line = strings.TrimSpace(line + besides)
	t.Log(line)
	if *update {
		f.write(t, key, line)
		return
	}
	known := strings.Split(strings.TrimPrefix(f.find(t, key), key), "\t")
	for number, figure := range found {
		value, err := strconv.ParseFloat(known[number], 64)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(figure.value-value) > max(value*figure.share, figure.slack) {
			t.Errorf("%s: figure %d is %.1f, and %s says %.1f", name, number+1, figure.value, f.path, value)
		}
	}
}

func (f *table) lines(t *testing.T) []string {
	text, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (f *table) find(t *testing.T, key string) string {
	lines := f.lines(t)
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, key) })
	if at < 0 {
		t.Fatalf("%s does not know %q; -update writes it", f.path, key)
	}
	return lines[at]
}

// Puts a line in the place of the one that begins alike, or at the end.
func (f *table) write(t *testing.T, key, line string) {
	lines := f.lines(t)
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, key) })
	if at < 0 {
		lines = append(lines, line)
	} else {
		lines[at] = line
	}
	if err := os.WriteFile(f.path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
