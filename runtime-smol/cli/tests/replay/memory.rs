//! How much memory pods of 10 KB take whose metadata alone are kept.

use crate::command::replay;
use crate::replay::output::subject;
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_tests::pods::Pods;
use listwatch_tests::scratch::Scratch;
use listwatch_tests::skipped::tell;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// How many pods there are, unless `REPLAYED_PODS` says otherwise: with 100,000, each file has a gigabyte.
const PODS: usize = 10_000;

/// Megabytes beside those of the command with one pod, and for each pod.
const ALLOWED: (f64, f64) = (2.0, 0.0005);

type WritePods = fn(Pods, &mut BufWriter<Box<dyn Write>>) -> io::Result<()>;

fn write(pods: usize, write_pods: WritePods, zipped: bool) -> Scratch {
    let scratch = Scratch::path("");
    let file = File::create(&scratch).unwrap();
    let sink: Box<dyn Write> =
        if zipped { Box::new(GzEncoder::new(file, Compression::fast())) } else { Box::new(file) };
    let mut sink = BufWriter::with_capacity(256 * 1024, sink);
    write_pods(Pods::new(pods), &mut sink).unwrap();
    sink.flush().unwrap();
    scratch
}

/// One file after the other, and none stays.
#[test]
fn metadata_alone_take_less_than_a_twentieth_of_the_pods() {
    let pods = std::env::var("REPLAYED_PODS").map_or(PODS, |pods| pods.parse().unwrap());
    let forms: [(&str, WritePods); 2] =
        [("list", |pods, out| pods.write_list(out)), ("capture", |pods, out| pods.write_capture(out))];
    for (form, write_pods) in forms {
        let one = replay(write(1, write_pods, false), "--type meta --verbose").output();
        let own = megabytes(subject(&one, "peak memory")[0]).unwrap_or_default();
        let allowed = own + ALLOWED.0 + ALLOWED.1 * pods as f64;
        for (zipped, packing) in [(false, "plain"), (true, "gzipped")] {
            let file = write(pods, write_pods, zipped);
            let bytes = file.as_ref().metadata().unwrap().len();
            let summary = replay(&file, "--type meta --verbose").output();
            assert_eq!(subject(&summary, "cache"), [format!("{pods} objects")]);
            let (peak, throughput) = (subject(&summary, "peak memory")[0], subject(&summary, "throughput")[0]);
            tell(format_args!("{form}, {packing} ({:.0} MB): peak memory {peak}; {throughput}", bytes as f64 / 1e6));
            match megabytes(peak) {
                Some(peak) => assert!(peak < allowed, "{form}, {packing}: {peak} MB of {allowed}"),
                None => tell(format_args!("PEAK MEMORY WAS NOT MEASURED: {peak}")),
            }
        }
    }
}

fn megabytes(peak: &str) -> Option<f64> {
    peak.strip_suffix(" MB").map(|peak| peak.parse().unwrap())
}
