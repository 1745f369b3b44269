//! Writes a list of N pods to a file: `big_list FILE N [list|capture]`, compressed if its name ends in `.gz`.

use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_tests::pods::Pods;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (file, count, form) = match arguments[..] {
        [file, count] => (file, count, "list"),
        [file, count, form @ ("list" | "capture")] => (file, count, form),
        _ => return usage(),
    };
    let Ok(count) = count.parse() else { return usage() };
    match write(file, Pods::new(count), form == "capture") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: big_list FILE N [list|capture]");
    ExitCode::from(2)
}

fn write(file: &str, pods: Pods, as_capture: bool) -> io::Result<()> {
    let mut sink = BufWriter::new(File::create(file)?);
    if file.ends_with(".gz") {
        let mut compressed = BufWriter::new(GzEncoder::new(sink, Compression::fast()));
        fill(&mut compressed, pods, as_capture)?;
        sink = compressed.into_inner()?.finish()?;
    } else {
        fill(&mut sink, pods, as_capture)?;
    }
    sink.flush()
}

fn fill(out: &mut impl Write, pods: Pods, as_capture: bool) -> io::Result<()> {
    if as_capture { pods.write_capture(out) } else { pods.write_list(out) }
}
