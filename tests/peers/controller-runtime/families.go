package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type family struct {
	name, help, kind string
	labels, bounds   []string
	// The bounds in the older text format.
	classic []string
}

var label = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)

// families scrapes in both formats that Prometheus reads, for they spell bounds differently.
func families(registry prometheus.Gatherer) (string, error) {
	found, err := scrape(registry, "application/openmetrics-text;version=1.0.0")
	if err != nil {
		return "", err
	}
	classic, err := scrape(registry, "text/plain;version=0.0.4")
	if err != nil {
		return "", err
	}
	var printed strings.Builder
	for i, it := range found {
		if strings.HasPrefix(it.name, "go_") || strings.HasPrefix(it.name, "process_") {
			continue
		}
		it.classic = classic[i].bounds
		fmt.Fprintf(&printed, "family %s\ntype %s\nhelp %s\n", it.name, it.kind, it.help)
		for _, list := range []struct {
			name   string
			values []string
		}{{"labels", it.labels}, {"bounds", it.bounds}, {"classic", it.classic}} {
			if len(list.values) > 0 {
				fmt.Fprintf(&printed, "%s %s\n", list.name, strings.Join(list.values, " "))
			}
		}
		printed.WriteByte('\n')
	}
	return printed.String(), nil
}

// scrape returns the families in the order of their names.
func scrape(registry prometheus.Gatherer, accept string) ([]*family, error) {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	response := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(response, request)
	if response.Code != http.StatusOK {
		return nil, fmt.Errorf("scrape: %d %s", response.Code, response.Body)
	}
	var found []*family
	for line := range strings.SplitSeq(response.Body.String(), "\n") {
		rest, isHelp := strings.CutPrefix(line, "# HELP ")
		switch {
		case isHelp:
			name, help, _ := strings.Cut(rest, " ")
			found = append(found, &family{name: name, help: help})
		case strings.HasPrefix(line, "# TYPE "):
			found[len(found)-1].kind = line[strings.LastIndexByte(line, ' ')+1:]
		case line != "" && !strings.HasPrefix(line, "#"):
			found[len(found)-1].read(line)
		}
	}
	return found, nil
}

func (f *family) read(series string) {
	for _, found := range label.FindAllStringSubmatch(series, -1) {
		into, value := &f.labels, found[1]
		if found[1] == "le" {
			into, value = &f.bounds, found[2]
		}
		if !slices.Contains(*into, value) {
			*into = append(*into, value)
		}
	}
}
