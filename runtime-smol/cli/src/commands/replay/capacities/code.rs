//! The types and the capacities, in Rust.

use super::field::Field;
use super::need::Need;
use crate::error::CommandError;
use listwatch::projection::{UID, VERSION};
use listwatch::text::{Counted, Printable};
use std::fmt;
use std::path::Path;

/// The most that a container of fixed memory counts, and the most bytes of a text.
const MOST: usize = u16::MAX as usize;

/// The characters of a name from outside.
const LONG: usize = 80;

/// A module that declares an informer in fixed memory.
pub(super) struct Code<'n> {
    need: &'n Need,
    source: String,
    room: usize,
    /// The fields, each with the type of its values.
    fields: Vec<(&'n Field, String)>,
}

impl<'n> Code<'n> {
    /// # Errors
    /// No fixed memory can hold the recording, or a field.
    pub(super) fn new(
        need: &'n Need,
        file: &Path,
        resource: Option<String>,
        room: usize,
    ) -> Result<Self, CommandError> {
        for (what, count, most) in [
            ("objects", need.most_objects, MOST),
            ("index values of objects", need.indexes.most_postings, MOST),
            ("bytes in a key", need.longest_key, MOST),
            ("bytes in a text of an index", need.indexes.longest, MOST),
            ("bytes in a uid", need.longest_uid, UID),
            ("bytes in a version", need.longest_version, VERSION),
        ] {
            if count > most {
                return Err(CommandError::TooMuch(format!("it has {count} {what}, and {most} are the most")));
            }
        }
        for field in need.by.iter().filter_map(|by| Some(&need.fields[(*by)?])) {
            if field.type_of(roomy).is_ok() && field.longest().is_none() {
                let why = "has values that are no texts, so there is no index by it";
                return Err(CommandError::Field(field.path.as_str().to_owned(), why));
            }
        }
        let typed = |field: &'n Field| field.type_of(roomy).map(|of| (field, of));
        let fields = need.fields.iter().map(typed).collect::<Result<_, _>>()?;
        let file = Printable::new(file.file_name().unwrap_or_default().to_string_lossy()).at_most(LONG).to_string();
        let resource = resource.map(|name| format!("{} in ", Printable::new(name).at_most(LONG)));
        Ok(Self { need, source: resource.unwrap_or_default() + &file, room, fields })
    }

    fn constants(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Need { indexes, deepest_stage, deepest_backlog, .. } = self.need;
        let constant = |f: &mut fmt::Formatter<'_>, name: &str, what: &str, seen: usize| {
            writeln!(f, "\n/// {what}. The recording needed {seen}.\npub const {name}: usize = {};", roomy(seen))
        };
        constant(f, "OBJECTS", "Objects in the cache", self.need.most_objects)?;
        constant(f, "KEY", "Bytes of a key", self.need.longest_key)?;
        constant(f, "POSTINGS", "Pairs of an object and its value in an index", indexes.most_postings)?;
        constant(f, "VALUES", "Distinct values of the indexes", indexes.most_values)?;
        constant(f, "VALUE", "Bytes of a value of an index", indexes.longest)?;
        let list = format!(
            "Deltas that wait; a list, of {} here, is applied in parts",
            Counted(*deepest_stage, "item", "items")
        );
        constant(f, "DELTAS", &list, *deepest_backlog)?;
        writeln!(f, "\n/// Bytes that are read at once.\npub const ROOM: usize = {};", self.room)
    }

    fn projection(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fields.is_empty() {
            return f
                .write_str("\n/// Of an object, its key, uid and version alone are kept.\npub type Fields = ();\n");
        }
        f.write_str("\nprojection! {\n    /// What is kept of an object.\n    pub struct Fields {\n")?;
        for (field, of) in &self.fields {
            if let Some(longest) = field.longest() {
                writeln!(f, "        /// The recording needed {}.", Counted(longest, "byte", "bytes"))?;
            }
            writeln!(f, "        pub {}: {of} = {:?},", field.name, field.path.as_str())?;
        }
        f.write_str("    }\n}\n")
    }

    fn indexes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.need.by.iter().map(|by| self.name(*by)).collect();
        writeln!(f, "\n/// Adds the indexes by {} to an empty cache.", names.join(", by "))?;
        f.write_str(
            "#[must_use]\npub fn add_indexes(cache: &mut Cache) -> Option<[IndexId; INDEXES]> {\n    Some([\n",
        )?;
        for by in &self.need.by {
            let text = match by {
                None => "object.namespace()".to_owned(),
                Some(_) => format!("some(&object.value.{})", self.name(*by)),
            };
            writeln!(f, "        cache.try_add_index(|object, emit| {text}.into_iter().for_each(emit)).ok()?,")?;
        }
        f.write_str("    ])\n}\n")?;
        if self.need.by.iter().any(Option::is_some) {
            f.write_str(
                "\nfn some(text: &str) -> Option<&str> {\n    Some(text).filter(|text| !text.is_empty())\n}\n",
            )?;
        }
        Ok(())
    }

    fn name(&self, by: Option<usize>) -> &str {
        by.map_or("namespace", |field| &self.need.fields[field].name)
    }
}

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Need { longest_object, longest_line, longest_text, .. } = self.need;
        writeln!(f, "//! An informer in fixed memory for what was recorded of {}.", self.source)?;
        writeln!(f, "//!")?;
        writeln!(
            f,
            "//! Each capacity is what the recording needed and a quarter more, rounded up to a multiple of 8."
        )?;
        writeln!(
            f,
            "//! The longest object has {longest_object} bytes, and the longest line of a watch {longest_line}: none has to fit"
        )?;
        let longest_text = Counted(*longest_text, "byte", "bytes");
        writeln!(f, "//! a buffer. The longest label value or owner's name has {longest_text}.\n")?;
        let texts = self.fields.iter().any(|(_, of)| of.starts_with("Text"));
        f.write_str(
            "use listwatch_core::cache::{FixedIndexer, IndexId};\nuse listwatch_core::decode::ProjectedJson;\n",
        )?;
        f.write_str("use listwatch_core::informer::InformerIn;\n")?;
        if !self.fields.is_empty() {
            f.write_str("use listwatch_core::projection;\n")?;
        }
        let text = if texts { "{Projected, Text}" } else { "Projected" };
        writeln!(f, "use listwatch_core::projection::{text};\nuse listwatch_core::storage::{{Fixed, Indexed}};")?;
        self.constants(f)?;
        writeln!(f, "\n/// Indexes of the cache.\npub const INDEXES: usize = {};", self.need.by.len())?;
        self.projection(f)?;
        f.write_str(TYPES)?;
        self.indexes(f)
    }
}

const TYPES: &str = "
/// An object of the cache.
pub type Object = Projected<Fields, KEY>;

/// Finds the objects in the answers of the server.
pub type Decoder = ProjectedJson<Fields, KEY, ROOM>;

/// The objects.
pub type Cache = FixedIndexer<Object, OBJECTS, Indexed<INDEXES, POSTINGS, VALUES, VALUE>>;

/// The informer. `&'static mut Decoder` and `&'static mut Cache` take their places where both are statics.
pub type Informer = InformerIn<Decoder, Cache, Fixed<DELTAS>>;
";

/// A quarter more, rounded up to a multiple of 8, as far as fixed memory counts.
fn roomy(seen: usize) -> usize {
    seen.saturating_add(seen / 4 + 1).next_multiple_of(8).min(MOST)
}
