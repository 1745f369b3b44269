//! The text of a scrape: families of series with labels, in the two forms that scrapers read.

use core::fmt::{Display, Write as _};
use core::time::Duration;
use std::collections::{HashMap, HashSet};

/// The form that a scraper asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    OpenMetrics,
    /// The older text of Prometheus, in which a counter is named as its series.
    #[cfg(any(test, feature = "endpoint"))]
    Prometheus,
}

/// Families that are written one after the other.
pub(super) struct Text {
    written: String,
    form: Form,
}

/// The labels of a series.
pub(super) type Labels = Vec<(&'static str, String)>;

/// What a series has now. Its type is the kind of its family.
pub(super) trait Value {
    const KIND: &'static str;

    fn write(self, text: &mut Text, name: &str, labels: Labels);
}

/// A counter, whose family is named without `_total`.
impl Value for u64 {
    const KIND: &'static str = "counter";

    fn write(self, text: &mut Text, name: &str, labels: Labels) {
        text.series(name, "_total", &labels, self);
    }
}

impl Value for f64 {
    const KIND: &'static str = "gauge";

    fn write(self, text: &mut Text, name: &str, labels: Labels) {
        text.series(name, "", &labels, format_args!("{self:?}"));
    }
}

/// The durations of a histogram: those of each bucket alone, with its upper bound in seconds; the last has the rest.
pub(super) struct Buckets {
    pub(super) total: Duration,
    pub(super) counts: Vec<(f64, u64)>,
}

impl Value for Buckets {
    const KIND: &'static str = "histogram";

    fn write(self, text: &mut Text, name: &str, mut labels: Labels) {
        text.series(name, "_sum", &labels, format_args!("{:?}", self.total.as_secs_f64()));
        text.series(name, "_count", &labels, self.counts.iter().map(|(_, count)| count).sum::<u64>());
        let mut up_to = 0;
        for (bound, count) in self.counts {
            up_to += count;
            labels.push(("le", text.bound(bound)));
            text.series(name, "_bucket", &labels, up_to);
            labels.pop();
        }
    }
}

impl Text {
    pub(super) fn new(form: Form) -> Self {
        Self { written: String::new(), form }
    }

    /// Families of these items, each of which has its name as these labels.
    pub(super) fn of<'t, T>(&'t mut self, labels: &'t [&'static str], items: &'t [(String, T)]) -> Of<'t, T> {
        Of { text: self, labels, items }
    }

    pub(super) fn family<V: Value>(&mut self, name: &str, help: &str, series: impl IntoIterator<Item = (Labels, V)>) {
        let end = if V::KIND == "counter" && self.form != Form::OpenMetrics { "_total" } else { "" };
        _ = writeln!(self.written, "# HELP {name}{end} {help}\n# TYPE {name}{end} {}", V::KIND);
        series.into_iter().for_each(|(labels, value)| value.write(self, name, labels));
    }

    fn series(&mut self, name: &str, end: &str, labels: &Labels, value: impl Display) {
        self.written.extend([name, end]);
        for (place, (label, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            _ = write!(self.written, "{}{label}=\"{value}\"", if place == 0 { '{' } else { ',' });
        }
        _ = writeln!(self.written, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// A bound as programs of Go write it, because a query names it: the shortest digits, and `1e-08` for `1e-8`.
    fn bound(&self, bound: f64) -> String {
        let scientific = format!("{bound:e}");
        match scientific.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?))) {
            _ if bound == f64::MAX => "+Inf".to_owned(),
            Some((digits, exponent)) if exponent < -4 => format!("{digits}e-{:02}", exponent.unsigned_abs()),
            _ if self.form == Form::OpenMetrics => format!("{bound:?}"),
            _ => format!("{bound}"),
        }
    }

    pub(super) fn finish(mut self) -> String {
        if self.form == Form::OpenMetrics {
            self.written.push_str("# EOF\n");
        }
        self.written
    }
}

/// Families of which each item has series.
pub(super) struct Of<'t, T> {
    text: &'t mut Text,
    labels: &'t [&'static str],
    items: &'t [(String, T)],
}

impl<T> Of<'_, T> {
    /// One series of each item that has a value.
    pub(super) fn each<V: Value>(&mut self, name: &str, help: &str, read: impl Fn(&T) -> Option<V>) {
        let series = self.items.iter().filter_map(|(name, it)| Some((labels_of(self.labels, name), read(it)?)));
        self.text.family(name, help, series);
    }

    /// A series of each item for each value of one more label.
    pub(super) fn by<S: Into<String>, V: Value>(
        &mut self,
        [name, label]: [&'static str; 2],
        help: &str,
        read: impl Fn(&T) -> Vec<(S, V)>,
    ) {
        let series = self.items.iter().flat_map(|(name, it)| {
            let labels = labels_of(self.labels, name);
            read(it).into_iter().map(move |(of, value)| ([&*labels, &[(label, of.into())]].concat(), value))
        });
        self.text.family(name, help, series);
    }
}

fn labels_of(labels: &[&'static str], name: &str) -> Labels {
    labels.iter().map(|label| (*label, name.to_owned())).collect()
}

/// Each item with a name of its own: of those that have the same, the second has `#2` at its end, unless that is the name
/// of another.
pub(crate) fn named<T>(items: Vec<T>, name: impl Fn(&T) -> String) -> Vec<(String, T)> {
    let mut taken: HashSet<String> = items.iter().map(&name).collect();
    let mut counts = HashMap::<String, usize>::new();
    let unique = |item: T| {
        let name = name(&item);
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 {
            return (name, item);
        }
        loop {
            let numbered = format!("{name}#{count}");
            if taken.insert(numbered.clone()) {
                return (numbered, item);
            }
            *count += 1;
        }
    };
    items.into_iter().map(unique).collect()
}

pub(super) fn number(count: usize) -> f64 {
    count as f64
}

/// 1 or 0.
pub(super) fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: Form) -> String {
        let mut text = Text::new(form);
        let items = [("a\"} 1\nb\\".to_owned(), 7)];
        let mut of = text.of(&["x"], &items);
        of.each("a", "Of a", |it| Some(*it));
        of.each("b", "Of b", |it| Some(*it as f64));
        of.each("c", "Of c", |_| None::<f64>);
        of.each("d", "Of d", |_| {
            Some(Buckets { total: Duration::from_millis(1500), counts: vec![(1e-8, 1), (1.0, 2), (f64::MAX, 3)] })
        });
        text.finish()
    }

    #[test]
    fn a_counter_is_named_as_its_series_and_a_bound_without_a_fraction_has_no_point_in_the_older_form() {
        let older = written(Form::Prometheus);
        let x = r#"x="a\"} 1\nb\\""#;
        let lines = [
            "# HELP a_total Of a\n# TYPE a_total counter".to_owned(),
            format!("a_total{{{x}}} 7"),
            "# HELP b Of b\n# TYPE b gauge".to_owned(),
            format!("b{{{x}}} 7.0"),
            "# HELP c Of c\n# TYPE c gauge\n# HELP d Of d\n# TYPE d histogram".to_owned(),
            format!("d_sum{{{x}}} 1.5\nd_count{{{x}}} 6"),
            format!("d_bucket{{{x},le=\"1e-08\"}} 1\nd_bucket{{{x},le=\"1\"}} 3\nd_bucket{{{x},le=\"+Inf\"}} 6\n"),
        ];
        assert_eq!(older, lines.join("\n"));
        let newer = older.replace(" a_total ", " a ").replace("le=\"1\"", "le=\"1.0\"") + "# EOF\n";
        assert_eq!(written(Form::OpenMetrics), newer);
    }

    #[test]
    fn bounds_are_written_as_by_go() {
        for (number, text) in
            [(1e-8, "1e-08"), (1e-5 - 2e-21, "9.999999999999999e-06"), (0.001, "0.001"), (1e3, "1000.0")]
        {
            assert_eq!(Text::new(Form::OpenMetrics).bound(number), text);
        }
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
