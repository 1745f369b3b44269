//! The objects of a recording as they were at a moment.

use super::filter::Filter;
use super::known;
use super::recording::{self, Recording};
use super::resource::name_of;
use super::state::{Part, State};
use crate::arguments::{Moment, Output, Print, ShowOptions};
use crate::commands::serve::table::cells_of;
use crate::error::CommandError;
use crate::output::messages;
use crate::output::printer::{Form, Printed, Printer};
use crate::output::shown::Shown;
use listwatch::Resource;
use listwatch::decode::Column;
use listwatch::file::{CaptureError, MomentKind, ObjectText, Timeline};
use listwatch::object::{MetaBuilder, Object, ObjectHandle};
use listwatch::time::WallTime;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// An object that is printed with the columns of its kind. One is decoded at a time: text takes a fifth of what values
/// take.
struct Row {
    object: Value,
    columns: Vec<Column>,
    cells: Vec<Value>,
}

/// Prints the objects at a moment.
///
/// # Errors
/// The recording cannot be read, has no such moment, or cannot be printed.
pub(super) fn show_at(options: &ShowOptions, at: Moment, file: &Path) -> Result<(), CommandError> {
    if !options.whats().is_empty() {
        return Err(CommandError::Arguments(
            "--at shows objects; leave out changes, reconciles, writes, failures and leases",
        ));
    }
    let filter = Filter::of(options, Duration::ZERO, Duration::MAX);
    let Recording { timeline, began } = Recording::open(options, file)?.of_keys(&filter);
    let mut timeline = if options.all_fields { timeline } else { timeline.unmanaged() };
    let until = recording::since(at, began)?;
    let mut state = State::default();
    let (end, fault) = state.read(&mut timeline, until.unwrap_or(Duration::MAX), &filter);
    let began = began.unwrap_or(WallTime::UNIX_EPOCH);
    let is_past = end.is_some_and(|end| at != Moment::End && until.is_none_or(|until| until > end));
    if let Some(length) = end.filter(|_| is_past) {
        let (file, dates) = (options.file.clone(), [began, began + length]);
        return Err(CommandError::OutOfRange { file, dates, length, fault: fault.map(Box::new) });
    }
    let until = until.unwrap_or_default();
    let now = began + end.map_or(until, |end| until.min(end));
    state.print(options, &filter, now).map_err(CommandError::Output)?;
    fault.map_or(Ok(()), |fault| Err(fault.into()))
}

impl State {
    /// Takes all changes up to a time. The first states count from the beginning. Returns the time of the last moment if
    /// that is before, and the fault that ended it.
    fn read(
        &mut self,
        timeline: &mut Timeline,
        until: Duration,
        filter: &Filter,
    ) -> (Option<Duration>, Option<CaptureError>) {
        let mut last = Duration::ZERO;
        for moment in timeline {
            let moment = match moment {
                Ok(moment) => moment,
                Err(error) => return (Some(last), Some(error)),
            };
            if moment.at > until && !self.0.is_empty() {
                return (None, None);
            }
            last = moment.at;
            if let MomentKind::Changed { resource, change, .. } = moment.kind {
                self.take(&resource, change, |key| filter.selects(&resource.collection, key.as_str()));
            }
        }
        (Some(last), None)
    }

    fn print(mut self, options: &ShowOptions, filter: &Filter, now: WallTime) -> std::io::Result<()> {
        if filter.has_labels() {
            let objects = self.0.values_mut().map(|part| &mut part.objects);
            objects.for_each(|objects| objects.retain(|_, object| filter.is_labelled(&value_of(object))));
        }
        self.0.retain(|_, part| !part.objects.is_empty());
        if self.0.is_empty() {
            messages::print("there is no such object at that time");
        }
        let printed = |Part { resource, .. }: &Part| {
            Printed::new(name_of(resource), &Resource::new(&path_of(&resource.collection)))
        };
        let output = options.output.unwrap_or(Output::Table);
        let form = Form::Objects { output, secrets: options.show_secrets, labels: false };
        let printed = self.0.values().map(printed).collect();
        let mut printer =
            Printer::new(std::io::stdout().lock(), Some(Print::Store), form, printed, options.namespace.is_none());
        printer.show_at(Some(now));
        let whole = |object: ObjectText| if options.all_fields { object } else { object.unmanaged() };
        self.0.into_values().enumerate().try_for_each(|(index, Part { resource, objects })| {
            let rows = objects.into_values().filter_map(|it| Row::of(&resource.collection, &whole(it), now));
            printer.sorted_store(index, rows)
        })
    }
}

impl Row {
    fn of(collection: &str, object: &ObjectText, now: WallTime) -> Option<ObjectHandle<Self>> {
        let mut meta = MetaBuilder::default();
        meta.set_name(object.key().name());
        object.key().namespace().into_iter().for_each(|namespace| meta.set_namespace(namespace));
        meta.set_resource_version(&object.version().to_string());
        let object = value_of(object);
        let (columns, cells) = cells_of(collection, &object, now);
        Some(Object { meta: meta.build()?, value: Self { object, columns, cells } }.into())
    }
}

impl Shown for Row {
    fn json(&self) -> Value {
        self.object.clone()
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn cells(&self) -> Vec<Value> {
        self.cells.clone()
    }
}

fn value_of(object: &ObjectText) -> Value {
    object.value().unwrap_or_else(|_| known::value(&object.text()))
}

fn path_of(collection: &str) -> String {
    let root = if collection.matches('/').count() > 1 { "apis" } else { "api" };
    format!("/{root}/{collection}")
}
