// Command robfig says when Kubernetes would start a CronJob in 2026, by the library that its
// controller uses. It reads lines "zone<TAB>schedule" and writes ../kubernetes_times.jsonl:
//
//	go run . < schedules.tsv > ../kubernetes_times.jsonl
//
// in a module that requires github.com/robfig/cron/v3 v3.0.1, as tests/cluster/controlplane does.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

type answer struct {
	Zone     string `json:"zone"`
	Schedule string `json:"schedule"`
	Error    string `json:"error,omitempty"`
	Count    int    `json:"count"`
	// Of all instants, one a line.
	Sha256 string `json:"sha256,omitempty"`
}

func main() {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	until := from.AddDate(1, 0, 0)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		zone, schedule, _ := strings.Cut(lines.Text(), "\t")
		made := answer{Zone: zone, Schedule: schedule}
		parsed, err := cron.ParseStandard("TZ=" + zone + " " + schedule)
		if err != nil {
			made.Error = err.Error()
		} else {
			hash := sha256.New()
			at := parsed.Next(from.Add(-time.Second))
			for ; at.Before(until) && !at.IsZero(); at = parsed.Next(at) {
				fmt.Fprintln(hash, at.UTC().Format("2006-01-02T15:04:05Z"))
				made.Count++
			}
			made.Sha256 = fmt.Sprintf("%x", hash.Sum(nil))
		}
		text, _ := json.Marshal(made)
		fmt.Println(string(text))
	}
}
