//! What a process needs: memory, descriptors and threads, again and again.

use std::fmt;
use std::fs;

/// What a process needed at some time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// In hours since the first one was taken.
    hours: f64,
    /// Resident memory, in KiB.
    memory: u64,
    descriptors: u64,
    threads: u64,
    /// Whether nothing went wrong at that time.
    is_quiet: bool,
}

/// The samples of a process.
pub(super) struct Gauge {
    name: &'static str,
    process: u32,
    samples: Vec<Sample>,
}

impl Gauge {
    pub(super) fn new(name: &'static str, process: u32) -> Self {
        Self { name, process, samples: Vec::new() }
    }

    /// Takes a sample. A process that is gone has none.
    pub(super) fn take(&mut self, hours: f64, is_quiet: bool) {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", self.process)) else { return };
        let Ok(descriptors) = fs::read_dir(format!("/proc/{}/fd", self.process)) else { return };
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let (memory, threads) = (number("VmRSS:"), number("Threads:"));
        let descriptors = descriptors.count() as u64;
        self.samples.push(Sample { hours, memory, descriptors, threads, is_quiet });
    }

    pub(super) fn last(&self) -> String {
        let Some(last) = self.samples.last() else { return "no sample".to_owned() };
        let Sample { memory, descriptors, threads, .. } = last;
        format!("{} has {memory} KiB, {descriptors} descriptors, {threads} threads", self.name)
    }

    /// How much memory is added in an hour, in MB, by the line of least squares through the samples of the second half.
    pub(super) fn slope(&self) -> f64 {
        let samples = self.half(true);
        let megabytes = |sample: &Sample| sample.memory as f64 * 1024.0 / 1e6;
        slope(&samples.iter().map(|sample| (sample.hours, megabytes(sample))).collect::<Vec<_>>())
    }

    /// The hours of the second half.
    pub(super) fn hours(&self) -> f64 {
        let half = self.half(true);
        half.last().zip(half.first()).map_or(0.0, |(last, first)| last.hours - first.hours)
    }

    /// The most descriptors and threads at quiet times, in the first half and in the second.
    pub(super) fn most(&self) -> [[u64; 2]; 2] {
        [false, true].map(|second| {
            let quiet = self.half(second).iter().filter(|sample| sample.is_quiet);
            quiet.fold([0, 0], |[d, t], sample| [d.max(sample.descriptors), t.max(sample.threads)])
        })
    }

    fn half(&self, second: bool) -> &[Sample] {
        let (one, other) = self.samples.split_at(self.samples.len() / 2);
        if second { other } else { one }
    }
}

/// The row of a table.
impl fmt::Display for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, last] = [self.samples.first(), self.samples.last()].map(|it| it.map_or(0, |sample| sample.memory));
        let most = self.samples.iter().map(|sample| sample.memory).max().unwrap_or(0);
        let [[d1, t1], [d2, t2]] = self.most();
        let (name, samples, slope, hours) = (self.name, self.samples.len(), self.slope(), self.hours());
        let range = |of: fn(&Sample) -> u64| {
            let all = self.samples.iter().map(of);
            format!("{}–{}", all.clone().min().unwrap_or(0), all.max().unwrap_or(0))
        };
        write!(
            f,
            "| {name} | {samples} | {first} | {last} | {most} | {slope:+.2} over {hours:.2} h | {d1}, {d2} ({}) | {t1}, {t2} ({}) |",
            range(|sample| sample.descriptors),
            range(|sample| sample.threads),
        )
    }
}

/// The slope of the line of least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let (mut xy, mut xx) = (0.0, 0.0);
    for point in points {
        xy += (point.0 - x) * (point.1 - y);
        xx += (point.0 - x) * (point.0 - x);
    }
    if xx > 0.0 { xy / xx } else { 0.0 }
}

#[test]
fn the_slope_of_noise_around_a_line_is_that_of_the_line() {
    let points: Vec<_> = (0..100).map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x) + f64::from(x % 2))).collect();
    assert!((slope(&points) - 2.0).abs() < 0.01);
    assert!(slope(&points[..1]).abs() < f64::EPSILON);
}
