//! The text format 0.0.4 of Prometheus, from OpenMetrics.

use crate::metrics::bound;
use std::collections::HashSet;
use std::fmt::Write as _;

/// The same series in the older format: a counter's family has the name of its series, there is neither an end nor a
/// unit, and a bound is written as `1` instead of `1.0`, as programs of Go do.
pub(super) fn classic(openmetrics: &str) -> String {
    let counters: HashSet<&str> =
        openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT ")) {
        let mut parts = line.splitn(4, ' ');
        let _infallible = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("#"), Some(what @ ("HELP" | "TYPE")), Some(family), Some(rest)) if counters.contains(family) => {
                writeln!(text, "# {what} {family}_total {rest}")
            }
            _ => match bound(line) {
                Some((before, bound, after)) => {
                    writeln!(text, "{before}{}{after}", bound.strip_suffix(".0").unwrap_or(bound))
                }
                None => writeln!(text, "{line}"),
            },
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_without_a_fraction_has_no_point() {
        let openmetrics = "a_bucket{le=\"1.0\",x=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 3\nb{x=\"1.0\"} 1\n";
        assert_eq!(classic(openmetrics), openmetrics.replace("le=\"1.0\"", "le=\"1\""));
    }

    #[test]
    fn a_counter_is_named_as_its_series() {
        let openmetrics = "# HELP a Of a.\n# TYPE a counter\na_total{x=\"# HELP a b\"} 1\n# HELP b Of b.\n# TYPE b gauge\n\
                           # UNIT b s\nb 2\n# EOF\n";
        let text = "# HELP a_total Of a.\n# TYPE a_total counter\na_total{x=\"# HELP a b\"} 1\n# HELP b Of b.\n# TYPE b \
                    gauge\nb 2\n";
        assert_eq!(classic(openmetrics), text);
    }
}
