//! A file of plans, which are run again before others.

use crate::plan::Plan;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

/// Reads the plans of a file, one a line; a line with `#` is a comment. None, if there is no file.
pub(crate) fn read(path: &Path) -> Result<Vec<Plan>, String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let plan = |(index, line): (usize, &str)| {
        Plan::parse(line).map_err(|why| format!("{}:{}: {why}", path.display(), index + 1))
    };
    lines.map(plan).collect()
}

/// Appends a plan, and what it shows.
pub(crate) fn append(path: &Path, plan: &Plan, why: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    write!(file, "# {}\n{plan}\n", why.lines().next().unwrap_or_default())
}
