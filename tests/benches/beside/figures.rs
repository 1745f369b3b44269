//! Medians, ratios, and tables of them.

use core::fmt::Display;

pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// How ours stands to theirs, of which less is better: `1/3.5` if ours is less.
pub(crate) fn ratio(ours: f64, theirs: f64) -> String {
    if theirs >= ours { format!("1/{:.1}", theirs / ours) } else { format!("{:.1}", ours / theirs) }
}

/// The first line of a table and the one below it. The first column is text, and the others have numbers.
pub(crate) fn head<T: Display>(columns: impl IntoIterator<Item = T>) -> String {
    let columns = cells(columns);
    format!("{columns}\n|---|{}\n", "--:|".repeat(columns.matches('|').count() - 2))
}

/// A line of a table.
pub(crate) fn row<T: Display>(cells_: impl IntoIterator<Item = T>) -> String {
    cells(cells_) + "\n"
}

fn cells<T: Display>(cells: impl IntoIterator<Item = T>) -> String {
    cells.into_iter().fold("|".to_owned(), |line, cell| format!("{line} {cell} |"))
}
