//! Values of options that several commands have.

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

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}
