//! Informers, and their machines, beside those of client-go and kube-rs, on the same server and the same bytes:
//! `tests/benches/peers` runs it.
//!
//! `beside measure PEERS KUBE-RS FOLDER [--quick] [--turns NUMBER] [SECTION]...` measures by the programs of
//! `tests/peers/client-go` and `tests/peers/kube-rs` (`-` for none). It writes a table for each section into the folder,
//! and starts the other commands, which are our side.
#![expect(clippy::unwrap_used, reason = "a step that fails ends the run")]

mod busy;
mod command;
mod figures;
mod follow;
mod growth;
mod informers;
mod peaks;
mod process;
mod readers;
mod replay;
mod settings;

use settings::Settings;

/// What measures a section, and makes its tables.
type Measure = fn(&Settings) -> String;

/// The sections, by name.
const SECTIONS: [(&str, Measure); 7] = [
    ("informers", informers::tables),
    ("command", command::table),
    ("peaks", peaks::table),
    ("readers", readers::table),
    ("workers", busy::table),
    ("growth", growth::table),
    ("replay", replay::table),
];

fn main() {
    // cargo says `--bench` to every benchmark.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["measure", peers, kube_rs, folder, ref rest @ ..] => {
            let settings = Settings::new(peers, kube_rs, rest);
            for (name, tables) in SECTIONS.into_iter().filter(|(name, _)| settings.has_section(name)) {
                let tables = tables(&settings);
                println!("\n{name}\n\n{tables}");
                std::fs::write(format!("{folder}/{name}.md"), tables).unwrap();
            }
        }
        ["follow", ref follow @ ..] => follow::command(follow, None),
        ["growth", ref sizes @ ..] => growth::measure(sizes),
        ["workers"] => busy::measure(),
        // Who runs all benchmarks does not mean one of a quarter of an hour.
        _ => println!("tests/benches/peers runs this"),
    }
}
