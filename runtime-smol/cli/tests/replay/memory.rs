//! How much memory a gigabyte of pods takes whose metadata alone are kept.

use crate::command::replay;
use crate::replay::output::subject;
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_tests::pods::Pods;
use listwatch_tests::scratch::Scratch;
use std::fs::File;
use std::io::{self, BufWriter, Write};

const PODS: usize = 100_000;

/// In megabytes.
const ALLOWED: f64 = 100.0;

type WritePods = fn(Pods, &mut BufWriter<Box<dyn Write>>) -> io::Result<()>;

fn write(write_pods: WritePods, zipped: bool) -> Scratch {
    let scratch = Scratch::path("");
    let file = File::create(&scratch).unwrap();
    let sink: Box<dyn Write> =
        if zipped { Box::new(GzEncoder::new(file, Compression::fast())) } else { Box::new(file) };
    let mut sink = BufWriter::with_capacity(256 * 1024, sink);
    write_pods(Pods::new(PODS), &mut sink).unwrap();
    sink.flush().unwrap();
    scratch
}

/// One file after the other, and none stays: plain, each has a gigabyte.
#[test]
fn a_hundred_thousand_pods_by_their_metadata_fit_into_a_hundred_megabytes() {
    let forms: [(&str, WritePods); 2] =
        [("list", |pods, out| pods.write_list(out)), ("capture", |pods, out| pods.write_capture(out))];
    for (form, write_pods) in forms {
        for (zipped, packing) in [(false, "plain"), (true, "gzipped")] {
            let file = write(write_pods, zipped);
            let bytes = file.as_ref().metadata().unwrap().len();
            let summary = replay(&file, "--type meta").output();
            assert_eq!(subject(&summary, "cache"), [format!("{PODS} objects")]);
            let (peak, throughput) = (subject(&summary, "peak memory")[0], subject(&summary, "throughput")[0]);
            tell(&format!("{form}, {packing} ({:.0} MB): peak memory {peak}; {throughput}", bytes as f64 / 1e6));
            match peak.strip_suffix(" MB") {
                Some(peak) => assert!(peak.parse::<f64>().unwrap() < ALLOWED, "{form}, {packing}: {peak} MB"),
                None => tell(&format!("PEAK MEMORY WAS NOT MEASURED: {peak}")),
            }
        }
    }
}

/// Says it in every test run: unlike a macro's output, this is not held back where the test succeeds.
fn tell(line: &str) {
    io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}
