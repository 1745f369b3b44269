//! Families of series with labels.

use core::fmt;
use core::time::Duration;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use std::collections::HashMap;

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

/// Each item with a name of its own: of those that have the same, the second has `#2` at its end.
pub(crate) fn named<T>(items: Vec<T>, name: impl Fn(&T) -> String) -> Vec<(String, T)> {
    let mut used = HashMap::<String, usize>::new();
    let mut unique = |item: T| {
        let name = name(&item);
        let count = used.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name}#{count}") };
        (name, item)
    };
    items.into_iter().map(&mut unique).collect()
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
    fn of_two_that_have_one_name_the_second_is_numbered() {
        let names: Vec<_> =
            named(vec!["a", "b", "a"], |it| (*it).to_owned()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b", "a#2"]);
    }
}
