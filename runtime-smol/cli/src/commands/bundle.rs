//! Saved clusters: folders and archives of objects, as must-gather, `kubectl cluster-info dump`, support bundles and backups
//! make them. Their objects become one list.

use super::yaml::to_json;
use crate::error::CommandError;
use flate2::bufread::MultiGzDecoder;
use listwatch::file::kinds::group_of;
use listwatch::text::{Counted, Printable};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The most bytes of one file of a bundle, which is in memory.
const MOST_FILE: u64 = 512 * 1024 * 1024;
/// The most bytes of all files of an archive, when they are unpacked.
const MOST_UNPACKED: u64 = 64 * 1024 * 1024 * 1024;
/// The most objects of a bundle, whose names are in memory.
const MOST_OBJECTS: usize = 5_000_000;
/// The most folders within one another.
const MOST_LEVELS: usize = 64;
/// The most lists within one another, with the object in them.
const MOST_LISTS: usize = 4;
/// How many names of files are told.
const MOST_NAMES: usize = 3;
/// The place of the magic bytes of a tar archive, and those.
const TAR: (usize, &[u8]) = (257, b"ustar");
/// The line before the log of a container, and the one behind it, in what `kubectl cluster-info dump` prints.
const LOG: [&[u8]; 2] = [b"==== START logs for container ", b"==== END logs for container "];

/// A folder or an archive of objects.
pub(super) struct Bundle {
    path: PathBuf,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Folder,
    /// A tar archive, which gzip or Zstandard may have compressed.
    Archive,
    /// A file of what `kubectl cluster-info dump` prints.
    Dump,
}

/// What a bundle has.
#[derive(Default)]
pub(super) struct Contents {
    objects: usize,
    kinds: BTreeSet<String>,
    /// The files with objects.
    files: usize,
    /// The files whose names are not those of JSON or YAML.
    others: usize,
    /// The files that have no objects, or that cannot be read; the names of the first ones.
    left_out: (usize, Vec<String>),
    /// When the newest of the files with objects was written.
    pub(super) written: Option<SystemTime>,
}

/// A file of a bundle.
struct Member<'m> {
    name: &'m str,
    written: Option<SystemTime>,
    content: &'m mut dyn Read,
}

/// The newest state of each object, by its name: its version, and its number among all states.
#[derive(Default)]
struct Newest(HashMap<String, (u64, usize)>);

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
}

/// An object of a file.
struct Object<'a> {
    text: &'a str,
    /// The object's own type.
    head: Head<'a>,
    /// Its type, which is that of its list if it has none.
    api_version: &'a str,
    kind: &'a str,
}

impl Bundle {
    /// The bundle at a path, if it is one.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        let form = match () {
            () if metadata.is_dir() => Form::Folder,
            () if !metadata.is_file() => return None,
            () => form_of_file(path).ok()??,
        };
        Some(Self { path: path.into(), form })
    }

    /// Writes all objects as one list. An object that is in several files counts once, in its newest state.
    pub(super) fn write_list(&self, mut out: impl Write) -> Result<Contents, CommandError> {
        let (mut contents, mut newest, mut number) = (Contents::default(), Newest::default(), 0);
        self.each(&mut |member| {
            contents.take(member, &mut |object| {
                newest.note(object, number)?;
                number += 1;
                Ok(())
            })
        })
        .map_err(|error| self.bad(&error))?;
        contents.objects = newest.0.len();
        if contents.objects == 0 {
            return Err(self.bad(&io::Error::other(contents.nothing())));
        }
        number = 0;
        let mut separator = &br#"{"apiVersion":"v1","kind":"List","items":["#[..];
        self.each(&mut |member| {
            Contents::default().take(member, &mut |object| {
                number += 1;
                if newest.is(object, number - 1) {
                    out.write_all(std::mem::replace(&mut separator, b","))?;
                    object.write(&mut out)?;
                }
                Ok(())
            })
        })
        .and_then(|()| out.write_all(b"]}\n"))
        .and_then(|()| out.flush())
        .map_err(|error| self.bad(&error))?;
        Ok(contents)
    }

    fn bad(&self, error: &io::Error) -> CommandError {
        CommandError::Unfit(self.path.clone(), Printable::new(error.to_string()).to_string())
    }

    /// The name of its form.
    pub(super) fn noun(&self) -> &'static str {
        match self.form {
            Form::Folder => "a folder",
            Form::Archive => "an archive",
            Form::Dump => "a dump of a cluster",
        }
    }

    /// Visits each file, in the same order each time.
    fn each(&self, visit: &mut dyn FnMut(Member<'_>) -> io::Result<()>) -> io::Result<()> {
        match self.form {
            Form::Folder => each_below(&self.path, &self.path, MOST_LEVELS, visit),
            Form::Archive => each_packed(&self.path, visit),
            Form::Dump => {
                let written = self.path.metadata()?.modified().ok();
                visit(Member { name: "dump.json", written, content: &mut *unpacked(&self.path)? })
            }
        }
    }
}

/// The form of a bundle that is one file.
fn form_of_file(path: &Path) -> io::Result<Option<Form>> {
    let mut head = vec![0; 4096];
    let mut file = unpacked(path)?;
    let len = read_up_to(&mut *file, &mut head)?;
    let head = &head[..len];
    if head.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) {
        return Ok(Some(Form::Archive));
    }
    // The first list of a dump is that of the nodes.
    let begins = head.trim_ascii_start().first() == Some(&b'{') && contains(head, b"\"NodeList\"");
    let is_dump = begins && has_line(head.chain(file), LOG[0])?;
    Ok(is_dump.then_some(Form::Dump))
}

fn read_up_to(file: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match file.read(&mut buffer[len..])? {
            0 => break,
            more => len += more,
        }
    }
    Ok(len)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Whether a line of a file begins so.
fn has_line(file: impl Read, begin: &[u8]) -> io::Result<bool> {
    let mut lines = BufReader::new(file.take(MOST_FILE));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if line.starts_with(begin) {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// The bytes of a file, decompressed.
fn unpacked(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(File::open(path)?);
    let head = file.fill_buf()?;
    Ok(match head {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file)?),
        _ => Box::new(file),
    })
}

/// Visits the files below a folder, by their names. Links are not followed.
fn each_below(
    root: &Path,
    folder: &Path,
    levels: usize,
    visit: &mut dyn FnMut(Member<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let named = |error: io::Error, path: &Path| io::Error::other(format!("{}: {error}", path.display()));
    if levels == 0 {
        return Err(named(io::Error::other("too many folders within one another"), folder));
    }
    let read = std::fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = read.map_err(|error| named(error, folder))?;
    entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() {
            each_below(root, &path, levels - 1, visit)?;
        } else if metadata.is_file() {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
            let mut content = Opened { path: &path, file: None };
            let member = Member { name: &name, written: metadata.modified().ok(), content: &mut content };
            visit(member).map_err(|error| named(error, &path))?;
        }
    }
    Ok(())
}

/// A file that is opened when it is read.
struct Opened<'p> {
    path: &'p Path,
    file: Option<Box<dyn Read>>,
}

impl Read for Opened<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(unpacked(self.path)?),
        };
        file.read(buffer)
    }
}

fn each_packed(path: &Path, visit: &mut dyn FnMut(Member<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut archive = tar::Archive::new(unpacked(path)?.take(MOST_UNPACKED));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let seconds = entry.header().mtime().ok().map(Duration::from_secs);
        let written = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(seconds));
        visit(Member { name: &name, written, content: &mut entry })?;
    }
    Ok(())
}

impl Contents {
    /// Takes the objects of a file.
    fn take(&mut self, member: Member<'_>, visit: &mut dyn FnMut(&Object<'_>) -> io::Result<()>) -> io::Result<()> {
        let name = member.name.strip_suffix(".gz").unwrap_or(member.name);
        let is_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
        if !is_yaml && !name.ends_with(".json") {
            self.others += 1;
            return Ok(());
        }
        let mut text = Vec::new();
        let read = member.content.take(MOST_FILE + 1).read_to_end(&mut text);
        if read.is_err() || text.len() as u64 > MOST_FILE {
            self.leave_out(member.name);
            return Ok(());
        }
        if is_yaml {
            let mut json = Vec::new();
            let is_read = str::from_utf8(&text).is_ok_and(|text| to_json(text, &mut json).is_some());
            text = if is_read { json } else { Vec::new() };
        }
        let (mut has_objects, kinds) = (false, &mut self.kinds);
        let whole = each_value(&text, &mut |value| {
            each_object(value, [""; 2], MOST_LISTS, &mut |object| {
                has_objects = true;
                if !kinds.contains(object.kind) {
                    kinds.insert(object.kind.to_owned());
                }
                visit(object)
            })
        })?;
        self.files += usize::from(has_objects);
        if has_objects {
            self.written = self.written.max(member.written);
        }
        if !whole || !has_objects {
            self.leave_out(member.name);
        }
        Ok(())
    }

    fn leave_out(&mut self, name: &str) {
        self.left_out.0 += 1;
        if self.left_out.1.len() < MOST_NAMES {
            self.left_out.1.push(name.to_owned());
        }
    }

    /// Why there is nothing to play.
    fn nothing(&self) -> String {
        let files = Counted(self.left_out.0 + self.others, "file", "files");
        format!(
            "none of its {files} is an object or a list; give a recording, what `kubectl get -o json` or \
             `kubectl cluster-info dump` saved, a must-gather, a support bundle or a backup"
        )
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { objects, kinds, files, left_out: (count, names), .. } = self;
        let objects = Counted(*objects as u64, "object", "objects");
        let (kinds, files) = (Counted(kinds.len() as u64, "kind", "kinds"), Counted(*files as u64, "file", "files"));
        write!(f, "{objects} of {kinds} in {files}")?;
        if *count > 0 {
            let files = Counted(*count as u64, "file", "files");
            let more = if *count > names.len() { ", …" } else { "" };
            write!(f, "; {files} left out, wholly or from a place that cannot be read: {}{more}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Visits each value of a text: objects, lists, or arrays of them, and logs between them. Returns whether it was read to its
/// end.
fn each_value<'t>(text: &'t [u8], visit: &mut dyn FnMut(&'t str) -> io::Result<()>) -> io::Result<bool> {
    let Ok(text) = str::from_utf8(text) else { return Ok(false) };
    let mut rest = text.trim_start_matches('\u{feff}').trim_ascii_start();
    while !rest.is_empty() {
        if rest.as_bytes().starts_with(LOG[0]) {
            let end = str::from_utf8(LOG[1]).ok().and_then(|end| rest.find(end));
            let behind = end.and_then(|end| rest[end..].find('\n').map(|line| end + line));
            rest = rest.get(behind.unwrap_or(rest.len())..).unwrap_or_default().trim_ascii_start();
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(value)) = values.next() else { return Ok(false) };
        rest = rest[values.byte_offset()..].trim_ascii_start();
        visit(value.get())?;
    }
    Ok(true)
}

/// Visits the objects in a value. Those of a list may have no type of their own.
fn each_object(
    text: &str,
    list: [&str; 2],
    levels: usize,
    visit: &mut dyn FnMut(&Object<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let Some(levels) = levels.checked_sub(1) else { return Ok(()) };
    if text.starts_with('[') {
        let values: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
        return values.iter().try_for_each(|value| each_object(value.get(), list, levels, visit));
    }
    let Ok(head) = serde_json::from_str::<Head<'_>>(text) else { return Ok(()) };
    let type_of = |own: &str, lists: &str| if own.is_empty() { lists } else { own }.to_owned();
    let (api_version, kind) = (type_of(&head.api_version, list[0]), type_of(&head.kind, list[1]));
    if let Some(items) = &head.items {
        let list = [&*api_version, kind.strip_suffix("List").unwrap_or_default()];
        return items.iter().try_for_each(|item| each_object(item.get(), list, levels, visit));
    }
    let is_object = !head.metadata.name.is_empty() && !kind.is_empty();
    if is_object { visit(&Object { text, head, api_version: &api_version, kind: &kind }) } else { Ok(()) }
}

impl Newest {
    /// Notes a state of an object. Of two states of one version, the first counts.
    fn note(&mut self, object: &Object<'_>, number: usize) -> io::Result<()> {
        let version = object.head.metadata.resource_version.parse().unwrap_or(0);
        let known = self.0.entry(object.id()).or_insert((version, number));
        if version > known.0 {
            *known = (version, number);
        }
        let is_full = self.0.len() > MOST_OBJECTS;
        if is_full { Err(io::Error::other(format!("more than {MOST_OBJECTS} objects"))) } else { Ok(()) }
    }

    /// Whether the newest state of the object has this number.
    fn is(&self, object: &Object<'_>, number: usize) -> bool {
        self.0.get(&object.id()).is_some_and(|(_, newest)| *newest == number)
    }
}

impl Object<'_> {
    /// Its name among all objects. The versions of a group serve the same objects.
    fn id(&self) -> String {
        let Metadata { name, namespace, .. } = &self.head.metadata;
        format!("{}/{}/{namespace}/{name}", group_of(self.api_version), self.kind)
    }

    /// Writes it, with its type.
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let fields = self.text.strip_prefix('{').unwrap_or_default();
        out.write_all(b"\n{")?;
        let types = [("apiVersion", self.api_version, &self.head.api_version), ("kind", self.kind, &self.head.kind)];
        for (name, value, _) in types.iter().filter(|(_, _, own)| own.is_empty()) {
            write!(out, "\"{name}\":{},", serde_json::to_string(value)?)?;
        }
        out.write_all(fields.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(text: &str) -> (bool, Vec<String>) {
        let mut objects = Vec::new();
        let whole = each_value(text.as_bytes(), &mut |value| {
            each_object(value, [""; 2], MOST_LISTS, &mut |object| {
                let mut out = Vec::new();
                object.write(&mut out)?;
                objects.push(String::from_utf8(out).unwrap().trim_start().to_owned());
                Ok(())
            })
        });
        (whole.unwrap(), objects)
    }

    #[test]
    fn lists_arrays_and_logs_of_containers_give_their_objects_with_their_types() {
        let text = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}
==== START logs for container c of pod d/a ====
{"kind":"No","metadata":{"name":"object"}}
==== END logs for container c of pod d/a ====
[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}, "text", {"kind":"Status"}]
{"kind":"List","items":[{"kind":"RoleList","apiVersion":"rbac/v1","items":[{"metadata":{"name":"r"}}]}]}"#;
        let expected = [
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#,
            r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}"#,
            r#"{"apiVersion":"rbac/v1","kind":"Role","metadata":{"name":"r"}}"#,
        ];
        assert_eq!(objects(text), (true, expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_text_that_breaks_off_gives_what_is_before() {
        let (whole, found) = objects(r#"{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}} {"kind":"#);
        assert!(!whole);
        assert_eq!(found.len(), 1);
        assert_eq!(objects(&"[".repeat(100_000)), (false, Vec::new()));
        assert_eq!(objects(&format!("{}{}", "[".repeat(9), "]".repeat(9))), (true, Vec::new()));
    }
}
