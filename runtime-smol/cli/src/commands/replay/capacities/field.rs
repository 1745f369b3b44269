//! The values that a field has, and the type that holds them.

use crate::arguments::FieldPath;
use crate::error::CommandError;
use serde_json::Value;

/// A field that is kept of each object.
pub(super) struct Field {
    pub(super) path: FieldPath,
    pub(super) name: String,
    kind: Option<Kind>,
    /// What it has that no field can hold, or not together with the values before.
    misfit: Option<&'static str>,
}

/// The values of a field so far.
#[derive(Clone, Copy)]
enum Kind {
    /// The bytes of the longest one.
    Text(usize),
    /// The least and the greatest one.
    Integer(i64, i64),
    Bool,
}

impl Field {
    /// The most fields of a projection.
    pub(super) const MOST: usize = 18;

    pub(super) fn new(path: FieldPath, name: String) -> Self {
        Self { path, name, kind: None, misfit: None }
    }

    /// Notes the field of an object. Returns its text, if it is one.
    pub(super) fn note<'v>(&mut self, object: &'v Value) -> Option<&'v str> {
        let value = self.path.find(object).filter(|value| !value.is_null())?;
        let seen = match value {
            Value::String(text) => Some(Kind::Text(text.len())),
            Value::Number(number) => number.as_i64().map(|number| Kind::Integer(number, number)),
            Value::Bool(_) => Some(Kind::Bool),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        match (self.kind, seen) {
            (_, None) => self.misfit = Some("has a value that is no text, no truth value and no integer of 64 bits"),
            (None, seen) => self.kind = seen,
            (Some(kind), Some(seen)) => match kind.with(seen) {
                Some(both) => self.kind = Some(both),
                None => self.misfit = Some("has values of several types"),
            },
        }
        value.as_str()
    }

    /// The bytes of the longest text; `None` if it has other values.
    pub(super) fn longest(&self) -> Option<usize> {
        if let Some(Kind::Text(longest)) = self.kind { Some(longest) } else { None }
    }

    /// The type that holds the values; a text has the capacity that `roomy` makes of its length.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn type_of(&self, roomy: impl Fn(usize) -> usize) -> Result<String, CommandError> {
        let error = |why| Err(CommandError::Field(self.path.as_str().to_owned(), why));
        match (self.misfit, self.kind) {
            (Some(misfit), _) => error(misfit),
            (None, None) => error("is in no object of the recording"),
            (None, Some(Kind::Text(longest))) => Ok(format!("Text<{}>", roomy(longest))),
            (None, Some(Kind::Bool)) => Ok("bool".to_owned()),
            (None, Some(Kind::Integer(least, greatest))) => Ok(match (u32::try_from(least), u32::try_from(greatest)) {
                (Ok(_), Ok(_)) => "u32".to_owned(),
                _ => "i64".to_owned(),
            }),
        }
    }
}

impl Kind {
    /// The values of both, if they are of one type.
    fn with(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Text(one), Self::Text(other)) => Self::Text(one.max(other)),
            (Self::Integer(least, greatest), Self::Integer(one, other)) => {
                Self::Integer(least.min(one), greatest.max(other))
            }
            (Self::Bool, Self::Bool) => Self::Bool,
            _ => return None,
        })
    }
}
