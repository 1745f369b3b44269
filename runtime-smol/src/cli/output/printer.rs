//! Events and the cache on standard output.

use super::text::{cell, write_json};
use crate::arguments::{Format, Print};
use listwatch_runtime_smol::Event;
use listwatch_runtime_smol::object::ObjectHandle;
use serde_json::{Map, Value};
use std::io::Write;

/// Prints events, the cache, both or nothing.
pub(crate) struct Printer<W> {
    out: W,
    print: Option<Print>,
    format: Format,
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(out: W, print: Option<Print>, format: Format) -> Self {
        Self { out, print, format }
    }

    /// The writer.
    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Prints the header of the events, of one resource or of several.
    pub(crate) fn begin(&mut self, several: bool) -> std::io::Result<()> {
        match (self.format, self.print) {
            (Format::Table, Some(Print::Events)) if several => {
                writeln!(self.out, "{:10} {:24} {:64} VERSION", "EVENT", "RESOURCE", "KEY")
            }
            (Format::Table, Some(Print::Events)) => writeln!(self.out, "{:10} {:64} VERSION", "EVENT", "KEY"),
            _ => Ok(()),
        }
    }

    /// Prints an event, with its resource if there are several: as JSON, one line with the arguments of client-go's
    /// handlers.
    pub(crate) fn event<T>(&mut self, resource: Option<&str>, event: &Event<T>) -> std::io::Result<()> {
        let Some(object) = event.object().filter(|_| self.print == Some(Print::Events)) else { return Ok(()) };
        match self.format {
            Format::Json => write_json(&mut self.out, &notification(resource, event, object)),
            Format::Table => {
                let (key, version) = (cell(object.key().as_str()), cell(object.meta().resource_version()));
                write!(self.out, "{:10} ", verb(event))?;
                resource.map_or(Ok(()), |resource| write!(self.out, "{:24} ", cell(resource)))?;
                writeln!(self.out, "{key:64} {version}")
            }
        }
    }

    /// Prints the cache of a resource, sorted by key: as JSON, one line.
    pub(crate) fn store<T>(
        &mut self,
        resource: Option<&str>,
        objects: impl IntoIterator<Item = ObjectHandle<T>>,
    ) -> std::io::Result<()> {
        if self.print.is_none() {
            return Ok(());
        }
        let mut objects: Vec<ObjectHandle<T>> = objects.into_iter().collect();
        objects.sort_by_cached_key(|object| object.key().clone());
        match self.format {
            Format::Json => {
                let entry = |object: &ObjectHandle<T>| format!("{} {}", object.key(), object.meta().resource_version());
                let mut store = Map::from_iter(resource.map(|resource| ("resource".to_owned(), resource.into())));
                store.insert("store".to_owned(), objects.iter().map(entry).collect::<Vec<_>>().into());
                write_json(&mut self.out, &store)?;
            }
            Format::Table => self.table(resource, &objects)?,
        }
        Ok(())
    }

    fn table<T>(&mut self, resource: Option<&str>, objects: &[ObjectHandle<T>]) -> std::io::Result<()> {
        if self.print == Some(Print::Events) {
            writeln!(self.out)?;
        }
        resource.map_or(Ok(()), |resource| writeln!(self.out, "{}:", cell(resource)))?;
        writeln!(self.out, "{:24} {:50} VERSION", "NAMESPACE", "NAME")?;
        for object in objects {
            let (namespace, name) = (object.meta().namespace().unwrap_or("-"), object.meta().name());
            let [namespace, name, version] = [namespace, name, object.meta().resource_version()].map(cell);
            writeln!(self.out, "{namespace:24} {name:50} {version}")?;
        }
        Ok(())
    }
}

fn verb<T>(event: &Event<T>) -> &'static str {
    match event {
        Event::Added { .. } => "added",
        Event::Updated { .. } => "updated",
        Event::Recreated { .. } => "recreated",
        Event::Deleted { final_state_known: true, .. } => "deleted",
        Event::Deleted { final_state_known: false, .. } => "vanished",
        _ => "",
    }
}

/// The arguments of client-go's handler, to which a recreation is an update.
fn notification<T>(resource: Option<&str>, event: &Event<T>, object: &ObjectHandle<T>) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.into(), value);
    if let Some(resource) = resource {
        put("resource", resource.into());
    }
    put("key", object.key().as_str().into());
    put("rv", object.meta().resource_version().into());
    match event {
        Event::Added { initial, .. } => {
            put("event", "add".into());
            put("initial", (*initial).into());
        }
        Event::Deleted { final_state_known, .. } => {
            put("event", "delete".into());
            put("final_state_unknown", (!final_state_known).into());
        }
        Event::Updated { old, .. } | Event::Recreated { old, .. } => {
            put("event", "update".into());
            put("old_rv", old.meta().resource_version().into());
        }
        _ => {}
    }
    fields
}
