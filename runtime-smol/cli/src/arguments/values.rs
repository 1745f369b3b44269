//! Values of options that several commands have.

use super::custom_columns::CustomColumns;
use clap::builder::{EnumValueParser, PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error, ValueEnum};
use std::ffi::OsStr;

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

/// Parses the forms of kubectl, custom columns among them.
#[derive(Clone)]
pub(super) struct OutputParser;

impl TypedValueParser for OutputParser {
    type Value = Output;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<Output, Error> {
        let columns = value.to_str().and_then(|text| text.strip_prefix("custom-columns="));
        let Some(columns) = columns else {
            return EnumValueParser::<Output>::new().parse_ref(command, argument, value);
        };
        // Arguments are there as long as the process is.
        let parser = StringValueParser::new().try_map(|text| CustomColumns::parse(&text));
        let columns = parser.parse_ref(command, argument, OsStr::new(columns))?;
        Ok(Output::Columns(Box::leak(Box::new(columns))))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Output::value_variants().iter().filter_map(Output::to_possible_value)))
    }
}
