//! A watch log of 1 GB: played by the command, read by `cat`, and parsed by `jq`.

use crate::figures::{head, median, row};
use crate::settings::Settings;
use listwatch_tests::pods::Pods;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn table(settings: &Settings) -> String {
    let ours = settings.command();
    let log = std::env::temp_dir().join(format!("listwatch-beside-{}.json", std::process::id()));
    let mut out = BufWriter::new(File::create(&log).unwrap());
    Pods::new(settings.size(100_000, 1_000)).write_watch_log(&mut out).unwrap();
    out.flush().unwrap();
    let commands: [(&str, &[&str]); 3] = [
        ("`listwatch replay --type meta`", &[&ours, "replay", "--type", "meta"]),
        ("`cat FILE >/dev/null`", &["cat"]),
        ("`jq -c .object.metadata.name`", &["jq", "-c", ".object.metadata.name"]),
    ];
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..settings.turns {
        for ((_, command), seconds) in commands.iter().zip(&mut seconds) {
            let began = Instant::now();
            let ended = Command::new(command[0]).args(&command[1..]).arg(&log).stdout(Stdio::null()).status();
            if ended.as_ref().is_ok_and(ExitStatus::success) {
                seconds.push(began.elapsed().as_secs_f64());
            } else {
                assert_eq!(command[0], "jq", "{ended:?}");
                eprintln!("NOT MEASURED: {command:?}: {ended:?}");
            }
        }
    }
    let bytes = std::fs::metadata(&log).unwrap().len() as f64;
    std::fs::remove_file(&log).unwrap();
    let rows = commands.iter().zip(seconds).map(|((title, _), seconds)| match seconds.is_empty() {
        true => row([*title, "not installed", ""].map(str::to_owned)),
        false => {
            let seconds = median(seconds);
            row([(*title).to_owned(), format!("{seconds:.2}"), format!("{:.0}", bytes / seconds / 1e6)])
        }
    });
    head([format!("a watch log of {:.0} MB", bytes / 1e6), "wall s".to_owned(), "MB/s".to_owned()])
        + &rows.collect::<String>()
}
