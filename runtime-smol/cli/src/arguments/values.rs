//! Values of options that several commands have.

use super::custom_columns::CustomColumns;
use clap::ValueEnum;

/// The type into which objects are decoded.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Kind {
    Raw,
    Meta,
    Value,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Print {
    Events,
    Store,
}

/// The forms in which kubectl prints objects.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Output {
    Table,
    Wide,
    Name,
    Json,
    Yaml,
    /// A table of these columns: `custom-columns=…`.
    #[value(skip)]
    Columns(&'static CustomColumns),
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}
