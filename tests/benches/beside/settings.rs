//! What is run, and how often.

use crate::SECTIONS;
use crate::process::output;
use std::path::Path;

/// The programs, and the size of the work.
pub(crate) struct Settings {
    pub(crate) peers: String,
    pub(crate) kube_rs: Option<String>,
    /// This program, which has our side.
    pub(crate) ours: String,
    pub(crate) turns: usize,
    is_quick: bool,
    sections: Vec<String>,
}

impl Settings {
    pub(crate) fn new(peers: &str, kube_rs: &str, mut arguments: &[&str]) -> Self {
        let ours = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let kube_rs = (kube_rs != "-").then(|| kube_rs.to_owned());
        let mut settings = Self { peers: peers.to_owned(), kube_rs, ours, turns: 5, is_quick: false, sections: vec![] };
        while let [argument, rest @ ..] = arguments {
            arguments = rest;
            match (*argument, rest) {
                ("--quick", _) => (settings.is_quick, settings.turns) = (true, 1),
                ("--turns", [turns, rest @ ..]) => (settings.turns, arguments) = (number(turns), rest),
                (section, _) => {
                    assert!(SECTIONS.iter().any(|(name, _)| *name == section), "no section and no option: {section}");
                    settings.sections.push(section.to_owned());
                }
            }
        }
        settings
    }

    pub(crate) fn has_section(&self, name: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|section| section == name)
    }

    /// The command, built beside this program.
    pub(crate) fn command(&self) -> String {
        output("cargo", &["build", "--quiet", "--release", "--package", "listwatch-cli"]);
        let folder = Path::new(&self.ours).parent().unwrap();
        folder.with_file_name("listwatch").to_str().unwrap().to_owned()
    }

    /// The size of some work, which is small for a quick look.
    pub(crate) fn size(&self, full: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { full }
    }
}

/// At least one.
fn number(turns: &str) -> usize {
    turns.parse().ok().filter(|turns| *turns > 0).unwrap_or_else(|| panic!("no number of turns: {turns}"))
}
