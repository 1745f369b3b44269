//! Families of series with labels.

use core::fmt;
use core::time::Duration;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use std::collections::{HashMap, HashSet};

/// Writes one family after the other.
pub(super) struct Families<'e>(pub(super) DescriptorEncoder<'e>);

/// The labels of a series.
pub(super) type Labels = Vec<(&'static str, String)>;

/// The durations of a histogram: those of each bucket alone, with its upper bound in seconds; the last has the rest.
pub(super) struct Buckets {
    pub(super) total: Duration,
    pub(super) counts: Vec<(f64, u64)>,
}

impl Families<'_> {
    /// A counter, by its name without `_total`.
    pub(super) fn counter(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        series.into_iter().try_for_each(|(labels, value)| {
            encoder.encode_family(&escaped(labels))?.encode_counter::<NoLabelSet, _, f64>(&value, None)
        })
    }

    pub(super) fn gauge(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        series.into_iter().try_for_each(|(labels, value)| encoder.encode_family(&escaped(labels))?.encode_gauge(&value))
    }

    pub(super) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels, Buckets)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        series.into_iter().try_for_each(|(labels, Buckets { total, counts })| {
            let count = counts.iter().map(|(_, count)| count).sum();
            encoder.encode_family(&escaped(labels))?.encode_histogram::<NoLabelSet>(
                total.as_secs_f64(),
                count,
                &counts,
                None,
            )
        })
    }
}

/// The text with the bounds of buckets as programs of Go write them, because a query names them: `1e-08` for `1e-8`.
pub(super) fn with_bounds_of_go(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + text.len() / 64);
    for line in text.split_inclusive('\n') {
        let bound = bound(line).and_then(|(before, bound, after)| Some((before, bound.parse::<f64>().ok()?, after)));
        match bound.filter(|(_, bound, _)| bound.is_finite()) {
            Some((before, bound, after)) => written.extend([before, &go(bound), after]),
            None => written.push_str(line),
        }
    }
    written
}

/// The label `le` of a line, and what is before and after it. A quote within a value is escaped.
pub(crate) fn bound(line: &str) -> Option<(&str, &str, &str)> {
    let is_series = !line.starts_with('#') && line.contains("_bucket{");
    let begin = line.find("{le=\"").or_else(|| line.find(",le=\"")).filter(|_| is_series)? + 5;
    let end = begin + line.get(begin..)?.find('"')?;
    Some((line.get(..begin)?, line.get(begin..end)?, line.get(end..)?))
}

/// A number as OpenMetrics is written by Go: shortest digits, a point or an exponent of two digits.
fn go(number: f64) -> String {
    let scientific = format!("{number:e}");
    match scientific.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?))) {
        Some((digits, exponent)) if !(-4..21).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{number:?}"),
    }
}

/// Each item with a name of its own: of those that have the same, the second has `#2` at its end, unless that is the name
/// of another.
pub(crate) fn named<T>(items: Vec<T>, name: impl Fn(&T) -> String) -> Vec<(String, T)> {
    let names: Vec<_> = items.iter().map(name).collect();
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut counts = HashMap::<String, usize>::new();
    let mut unique = |name: String| {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 {
            return name;
        }
        loop {
            let numbered = format!("{name}#{count}");
            if taken.insert(numbered.clone()) {
                return numbered;
            }
            *count += 1;
        }
    };
    let names: Vec<_> = names.into_iter().map(&mut unique).collect();
    names.into_iter().zip(items).collect()
}

/// The labels, and one more.
pub(super) fn and(mut labels: Labels, name: &'static str, value: impl Into<String>) -> Labels {
    labels.push((name, value.into()));
    labels
}

pub(super) fn number(count: usize) -> f64 {
    count as f64
}

/// The values as the text format has them: the encoder writes them as they are.
fn escaped(mut labels: Labels) -> Labels {
    for (_, value) in &mut labels {
        if value.contains(['\\', '"', '\n']) {
            *value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_as_by_go() {
        for (number, text) in
            [(1e-8, "1e-08"), (1e-5 - 2e-21, "9.999999999999999e-06"), (0.001, "0.001"), (1e3, "1000.0")]
        {
            assert_eq!(go(number), text);
        }
        let line = "a_bucket{x=\",le=\\\"2\\\"\",le=\"1e-8\"} 7\n";
        assert_eq!(with_bounds_of_go(line), line.replace("1e-8", "1e-08"));
        assert_eq!(with_bounds_of_go("a_bucket{le=\"+Inf\"} 1\n# EOF\n"), "a_bucket{le=\"+Inf\"} 1\n# EOF\n");
    }

    #[test]
    fn of_two_that_have_one_name_the_second_is_numbered() {
        let names: Vec<_> =
            named(vec!["a", "b", "a"], |it| (*it).to_owned()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b", "a#2"]);
    }

    /// A scraper keeps one of two series that have one name.
    #[test]
    fn a_name_that_looks_numbered_stays_unique() {
        for items in [["a", "a", "a#2"], ["a#2", "a", "a"]] {
            let mut names: Vec<_> =
                named(items.to_vec(), |it| (*it).to_owned()).into_iter().map(|(name, _)| name).collect();
            names.sort();
            assert_eq!(names, ["a", "a#2", "a#3"]);
        }
    }
}
