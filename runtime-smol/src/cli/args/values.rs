//! Values of options that several commands have.

/// What objects are decoded into.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Raw,
    Meta,
    Value,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Print {
    Nothing,
    Events,
    Store,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Format {
    Table,
    Json,
}

pub(super) fn kind(text: &str) -> Result<Kind, &'static str> {
    match text {
        "raw" => Ok(Kind::Raw),
        "meta" => Ok(Kind::Meta),
        "value" => Ok(Kind::Value),
        _ => Err("a type is `raw`, `meta` or `value`"),
    }
}

pub(super) fn print(text: &str) -> Result<Print, &'static str> {
    match text {
        "events" => Ok(Print::Events),
        "store" => Ok(Print::Store),
        _ => Err("what can be printed is `events` or `store`"),
    }
}

pub(super) fn format(text: &str) -> Result<Format, &'static str> {
    match text {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        _ => Err("a format is `table` or `json`"),
    }
}
