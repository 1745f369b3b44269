//! 80 threads that list 10,000 of 160,000 objects without pause, and one that writes.

use crate::figures::{head, row};
use crate::process::output;
use crate::settings::Settings;

const ROWS: [(&str, &str, &str); 2] = [
    ("listed", "shared", "listed"),
    ("listed, and one field of each object read", "shared_and_read", "listed_and_read"),
];

/// Each side gives the medians of its own turns.
pub(crate) fn table(settings: &Settings) -> String {
    let cargo = ["bench", "--quiet", "--package", "listwatch-benches", "--bench", "readers"];
    let (ours, theirs) = (output("cargo", &cargo), output(&settings.peers, &["readers"]));
    let rows = ROWS.iter().map(|(title, our, their)| {
        let ([writes, lists], [their_writes, their_lists]) = (figures(&ours, our), figures(&theirs, their));
        let figures = [writes, their_writes, lists, their_lists].map(|figure| format!("{figure:.0}"));
        let times = [writes / their_writes, lists / their_lists].map(|times| format!("{times:.1}"));
        row([[(*title).to_owned()].as_slice(), &figures[..2], &times[..1], &figures[2..], &times[1..]].concat())
    });
    let columns = ["80 threads", "writes a second", "client-go", "times", "lists a second", "client-go", "times"];
    head(columns) + &rows.collect::<String>()
}

/// Writes and lists a second, from the line of this name.
fn figures(lines: &str, name: &str) -> [f64; 2] {
    let line = lines.lines().find(|line| line.split('\t').next() == Some(name)).unwrap();
    let mut figures = line.split('\t').skip(1).map(|figure| figure.parse().unwrap());
    [figures.next().unwrap(), figures.next().unwrap()]
}
