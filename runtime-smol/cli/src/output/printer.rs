//! Events and the cache on standard output.

use super::changes::changes;
use super::secrets;
use super::shown::Shown;
use super::table::{Cells, Change, Shape, Table};
use super::text::{cell, write_json};
use super::yaml::write_yaml;
use crate::arguments::{Format, Output, Print};
use listwatch::object::ObjectHandle;
use listwatch::time::WallTime;
use listwatch::{Event, Resource};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::Write;
use std::time::SystemTime;

/// How events and the cache are printed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// The arguments of client-go's handlers, for programs.
    Handlers(Format),
    /// Objects, as kubectl prints them.
    Objects {
        output: Output,
        /// Whether the values of Secrets are printed.
        secrets: bool,
        /// Whether a table has a column of labels.
        labels: bool,
    },
}

impl Form {
    /// Whether the cells of the server are printed.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Objects { output: Output::Table | Output::Wide, .. })
    }
}

/// Prints events, the cache, both or nothing.
pub(crate) struct Printer<W> {
    out: W,
    print: Option<Print>,
    form: Form,
    resources: Vec<Printed>,
    table: Table,
    /// The date of what is printed; `None` for that of this machine.
    date: Option<WallTime>,
}

/// A resource whose events are printed.
pub(crate) struct Printed {
    /// The name that the user gave.
    name: String,
    /// Whether its objects are Secrets, which their metadata alone does not tell.
    secret: bool,
    /// Plural and group, up to the slash, for objects of which no more than metadata is known.
    plural: String,
}

impl Printed {
    pub(crate) fn new(name: impl Into<String>, resource: &Resource) -> Self {
        Self { name: name.into(), secret: secrets::are_secrets(resource), plural: plural(resource) }
    }
}

impl<W: Write> Printer<W> {
    /// A printer of these resources. If `namespaces` is true, a table has a column of namespaces.
    pub(crate) fn new(out: W, print: Option<Print>, form: Form, resources: Vec<Printed>, namespaces: bool) -> Self {
        let wide = matches!(form, Form::Objects { output: Output::Wide, .. });
        let labels = matches!(form, Form::Objects { labels: true, .. });
        let table = Table::new(resources.len(), Shape { wide, namespaces, labels });
        Self { out, print, form, resources, table, date: None }
    }

    /// Sets the date of what is printed next, of a recording that tells it.
    pub(crate) fn show_at(&mut self, date: Option<WallTime>) {
        self.date = date;
    }

    /// The writer. It lacks what [`settle`](Self::settle) writes.
    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes the lines of a table that were held to be aligned.
    pub(crate) fn settle(&mut self) -> std::io::Result<()> {
        self.table.flush(&mut self.out)
    }

    /// Prints the header of the events for programs.
    pub(crate) fn begin(&mut self) -> std::io::Result<()> {
        match (self.form, self.print) {
            (Form::Handlers(Format::Table), Some(Print::Events)) if self.resources.len() > 1 => {
                writeln!(self.out, "{:10} {:24} {:64} VERSION", "EVENT", "RESOURCE", "KEY")
            }
            (Form::Handlers(Format::Table), Some(Print::Events)) => {
                writeln!(self.out, "{:10} {:64} VERSION", "EVENT", "KEY")
            }
            _ => Ok(()),
        }
    }

    /// Prints an event of the resource with this index.
    pub(crate) fn event<T: Shown>(&mut self, index: usize, event: &Event<T>) -> std::io::Result<()> {
        if self.print != Some(Print::Events) {
            return Ok(());
        }
        match self.form {
            Form::Handlers(format) => self.handler_event(index, event, format),
            Form::Objects { output, secrets, .. } => self.object_event(index, event, output, secrets),
        }
    }

    /// Prints the cache of the resource with this index, sorted by key.
    pub(crate) fn store<T: Shown>(
        &mut self,
        index: usize,
        objects: impl IntoIterator<Item = ObjectHandle<T>>,
    ) -> std::io::Result<()> {
        if self.print.is_none() {
            return Ok(());
        }
        let mut objects: Vec<ObjectHandle<T>> = objects.into_iter().collect();
        objects.sort_by_cached_key(|object| object.key().clone());
        self.sorted_store(index, objects)
    }

    /// Prints objects in their order; as kubectl prints them, each before the next one is taken.
    pub(crate) fn sorted_store<T: Shown>(
        &mut self,
        index: usize,
        objects: impl IntoIterator<Item = ObjectHandle<T>>,
    ) -> std::io::Result<()> {
        match self.form {
            Form::Handlers(format) => self.handler_store(index, &objects.into_iter().collect::<Vec<_>>(), format),
            Form::Objects { output, secrets, .. } => self.object_store(index, objects, output, secrets),
        }
    }

    /// The name of the resource, if there are several.
    fn resource(&self, index: usize) -> Option<&str> {
        self.resources.get(index).filter(|_| self.resources.len() > 1).map(|resource| &*resource.name)
    }
}

/// The arguments of client-go's handlers.
impl<W: Write> Printer<W> {
    /// As JSON, one line with the arguments of a handler.
    fn handler_event<T>(&mut self, index: usize, event: &Event<T>, format: Format) -> std::io::Result<()> {
        let Some(object) = event.object() else { return Ok(()) };
        let resource = self.resource(index);
        match format {
            Format::Json => {
                let notification = notification(resource, event, object);
                write_json(&mut self.out, &notification)
            }
            Format::Table => {
                let (key, version) = (cell(object.key().as_str()), cell(object.meta().resource_version()));
                let resource = resource.map_or_else(String::new, |resource| format!("{:24} ", cell(resource)));
                // A writer would be handed each blank by itself.
                let line = format!("{:10} {resource}{key:64} {version}\n", verb(event));
                self.out.write_all(line.as_bytes())
            }
        }
    }

    /// As JSON, one line.
    fn handler_store<T>(&mut self, index: usize, objects: &[ObjectHandle<T>], format: Format) -> std::io::Result<()> {
        let resource = self.resource(index).map(str::to_owned);
        match format {
            Format::Json => {
                let entry = |object: &ObjectHandle<T>| format!("{} {}", object.key(), object.meta().resource_version());
                let mut store = Map::from_iter(resource.map(|resource| ("resource".to_owned(), resource.into())));
                store.insert("store".to_owned(), objects.iter().map(entry).collect::<Vec<_>>().into());
                write_json(&mut self.out, &store)
            }
            Format::Table => self.handler_table(resource.as_deref(), objects),
        }
    }

    fn handler_table<T>(&mut self, resource: Option<&str>, objects: &[ObjectHandle<T>]) -> std::io::Result<()> {
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

/// Objects, as kubectl prints them.
impl<W: Write> Printer<W> {
    /// Prints an event, unless it is an update by a list that found the object unchanged.
    fn object_event<T: Shown>(
        &mut self,
        index: usize,
        event: &Event<T>,
        output: Output,
        secrets: bool,
    ) -> std::io::Result<()> {
        if matches!(event, Event::Updated { old, new } if old.meta().is_same_state(new.meta())) {
            return Ok(());
        }
        let Some(object) = event.object() else { return Ok(()) };
        let secret = self.is_secret(index);
        match output {
            Output::Table | Output::Wide | Output::Columns(_) => {
                let cells = custom_cells(object, output, secret, secrets);
                self.row(index, Some((verb(event), changed(event, secret))), object, cells)
            }
            Output::Name => self.name(index, object),
            Output::Json | Output::Yaml => watch_events(event).try_for_each(|(event_type, object)| {
                let object = readable(object, secret, secrets);
                let time = self.date.map(|date| date.to_string());
                self.write(&WatchEvent { r#type: event_type, object, time }, output)
            }),
        }
    }

    fn object_store<T: Shown>(
        &mut self,
        index: usize,
        objects: impl IntoIterator<Item = ObjectHandle<T>>,
        output: Output,
        secrets: bool,
    ) -> std::io::Result<()> {
        let secret = self.is_secret(index);
        for object in objects {
            match output {
                Output::Table | Output::Wide | Output::Columns(_) => {
                    self.row(index, None, &object, custom_cells(&object, output, secret, secrets))?;
                }
                Output::Name => self.name(index, &object)?,
                Output::Json | Output::Yaml => self.write(&readable(&object, secret, secrets), output)?,
            }
        }
        self.settle()
    }

    fn name<T: Shown>(&mut self, index: usize, object: &ObjectHandle<T>) -> std::io::Result<()> {
        let name = format!("{}{}", self.kind(index, object), object.meta().name());
        writeln!(self.out, "{}", cell(&name))
    }

    /// Kind and group of an object as kubectl's `-o name` has them, up to the slash: `deployment.apps/`.
    fn kind<T: Shown>(&self, index: usize, object: &ObjectHandle<T>) -> String {
        let object = object.json();
        let (kind, api_version) = (object["kind"].as_str(), object["apiVersion"].as_str());
        let kind = kind.unwrap_or_default().to_lowercase();
        match api_version.and_then(|version| version.split_once('/')) {
            _ if matches!(&*kind, "" | "partialobjectmetadata") => self.resources[index].plural.clone(),
            Some((group, _version)) => format!("{kind}.{group}/"),
            None => format!("{kind}/"),
        }
    }

    fn is_secret(&self, index: usize) -> bool {
        self.resources.get(index).is_some_and(|resource| resource.secret)
    }

    fn row<T: Shown>(
        &mut self,
        index: usize,
        event: Option<(&'static str, String)>,
        object: &ObjectHandle<T>,
        custom: Option<Cells>,
    ) -> std::io::Result<()> {
        let prefix = self.resource(index).map(|_| self.kind(index, object)).unwrap_or_default();
        self.table.add(index, Change { event, object, prefix, custom }, self.now());
        if self.table.is_full() { self.settle() } else { Ok(()) }
    }

    /// The time of a line.
    fn now(&self) -> SystemTime {
        let since = |date: WallTime| date.saturating_since(WallTime::UNIX_EPOCH);
        self.date.map_or_else(wall_clock, |date| SystemTime::UNIX_EPOCH + since(date))
    }

    fn write(&mut self, value: &impl Serialize, output: Output) -> std::io::Result<()> {
        match output {
            Output::Yaml => write_yaml(&mut self.out, &serde_json::to_value(value)?),
            _ => write_json(&mut self.out, value),
        }
    }
}

/// An event of a watch, as `kubectl get --watch --output-watch-events` prints it.
#[derive(Serialize)]
struct WatchEvent {
    r#type: &'static str,
    object: Value,
    /// When a recorded client was told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
}

/// The date of this machine.
#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
fn wall_clock() -> SystemTime {
    SystemTime::now()
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

/// What an update changed.
fn changed<T: Shown>(event: &Event<T>, secret: bool) -> String {
    match event {
        Event::Updated { old, new } => changes(&old.json(), &new.json(), secret),
        _ => String::new(),
    }
}

/// The events of a watch that say the same.
fn watch_events<T>(event: &Event<T>) -> impl Iterator<Item = (&'static str, &ObjectHandle<T>)> {
    let (first, second) = match event {
        Event::Added { object, .. } => (Some(("ADDED", object)), None),
        Event::Updated { new, .. } => (Some(("MODIFIED", new)), None),
        Event::Recreated { old, new } => (Some(("DELETED", old)), Some(("ADDED", new))),
        Event::Deleted { object, .. } => (Some(("DELETED", object)), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// The whole object, without the values of a Secret unless they are asked for.
fn readable<T: Shown>(object: &ObjectHandle<T>, secret: bool, show: bool) -> Value {
    let mut object = object.json();
    if !show && (secret || secrets::is_secret(&object)) {
        secrets::hide(&mut object);
    }
    object
}

/// The custom columns of an object, if these are wanted.
fn custom_cells<T: Shown>(object: &ObjectHandle<T>, output: Output, secret: bool, show: bool) -> Option<Cells> {
    let Output::Columns(columns) = output else { return None };
    Some((columns.headers(), columns.cells(&readable(object, secret, show))))
}

/// Plural and group of a collection, up to the slash: `deployments.apps/`.
fn plural(resource: &Resource) -> String {
    let plural = resource.path().rsplit('/').next().unwrap_or_default();
    match resource.path().strip_prefix("/apis/").and_then(|path| path.split_once('/')) {
        Some((group, _)) => format!("{plural}.{group}/"),
        None => format!("{plural}/"),
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
