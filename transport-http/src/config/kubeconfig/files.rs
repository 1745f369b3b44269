//! Reading and merging of files. Of several files, the first that defines a name counts; one file defines it once.

use super::entry::{Entry, Origin};
use crate::config::yaml::{self, Node, Value};
use crate::error::{ConfigError, ConfigWarning};
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest kubeconfig, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// What to do without any context.
const NO_CONTEXT: &str = "it has no contexts; add one by `kubectl config set-context NAME --cluster=CLUSTER \
                          --user=USER`, or choose another file by $KUBECONFIG";

/// One or several kubeconfig files.
pub(crate) struct Kubeconfig(Vec<(Origin, Arc<Node>)>);

impl Kubeconfig {
    /// Reads the files that exist; `None` if none exists, or all are empty.
    pub(crate) fn of_existing(files: &[PathBuf]) -> Result<Option<Self>, ConfigError> {
        let mut read = Vec::new();
        for file in files {
            match content(file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                content => read.extend(of_file(file, content)?),
            }
        }
        Ok(Some(Self(read)).filter(|read| !read.0.is_empty()))
    }

    /// Reads one file, which must exist.
    pub(crate) fn of(file: &Path) -> Result<Self, ConfigError> {
        let empty = || ConfigError::new(format!("{} is empty", file.display()));
        Ok(Self(vec![of_file(file, content(file))?.ok_or_else(empty)?]))
    }

    /// Reads a text.
    pub(crate) fn of_text(text: &str) -> Result<Self, ConfigError> {
        if text.len() as u64 > MAX_FILE {
            return Err(ConfigError::new("the given kubeconfig is larger than 16 MiB"));
        }
        let empty = || ConfigError::new("the given kubeconfig is empty");
        Ok(Self(vec![document(Origin::Text, text)?.ok_or_else(empty)?]))
    }

    /// The files that others may write.
    pub(super) fn warnings(&self) -> Vec<ConfigWarning> {
        let warning = |(origin, _): &(Origin, _)| match origin {
            Origin::File(file, Some(mode)) => {
                Some(ConfigWarning::WritableKubeconfig { file: file.clone(), mode: *mode })
            }
            _ => None,
        };
        self.0.iter().filter_map(warning).collect()
    }

    pub(super) fn current_context(&self) -> Result<&str, ConfigError> {
        for (file, root) in &self.0 {
            let top = Entry { file, kind: "kubeconfig", name: "", node: root };
            if let Some(name) = top.text("current-context")? {
                return Ok(name);
            }
        }
        Err(self.without_context("names no current context", "choose one of"))
    }

    pub(super) fn context<'a>(&'a self, name: &'a str) -> Result<Entry<'a>, ConfigError> {
        let missing = || self.without_context(&format!("has no context `{name}`"), "there are");
        self.find("contexts", "context", name)?.ok_or_else(missing)
    }

    pub(super) fn cluster<'a>(&'a self, context: &Entry<'a>) -> Result<Entry<'a>, ConfigError> {
        let name = context.text("cluster")?.ok_or_else(|| context.fault("names no cluster"))?;
        let missing = || context.fault(format!("names the cluster `{name}`, which is not there"));
        self.find("clusters", "cluster", name)?.ok_or_else(missing)
    }

    /// The user of a context, which may have none. As with kubectl, a name without an entry is none.
    pub(super) fn user<'a>(&'a self, context: &Entry<'a>) -> Result<Option<Entry<'a>>, ConfigError> {
        context.text("user")?.map_or(Ok(None), |name| self.find("users", "user", name))
    }

    /// The first entry of that name.
    pub(super) fn find<'a>(
        &'a self,
        list: &str,
        kind: &'static str,
        name: &'a str,
    ) -> Result<Option<Entry<'a>>, ConfigError> {
        for (file, root) in &self.0 {
            for item in items(file, root, list)? {
                if name_of(item) == Some(name) {
                    let node = item.entry(kind).unwrap_or(item);
                    let entry = Entry { file, kind, name, node };
                    let is_map = matches!(node.value, Value::Map(_));
                    return if is_map { Ok(Some(entry)) } else { Err(entry.fault("is no map")) };
                }
            }
        }
        Ok(None)
    }

    /// The error of a context that is not there: what can be done, with the names of those that are.
    fn without_context(&self, what: &str, of_known: &str) -> ConfigError {
        let items = self.0.iter().flat_map(|(file, root)| items(file, root, "contexts").unwrap_or_default());
        let names: Vec<String> = items.filter_map(name_of).take(20).map(|name| format!("`{name}`")).collect();
        let advice = match names.join(", ") {
            none if none.is_empty() => NO_CONTEXT.to_owned(),
            names => format!("{of_known} {names}; `kubectl config use-context NAME` sets the current one"),
        };
        ConfigError::new(format!("{} {what}: {advice}", self.names()))
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|(file, _)| file.to_string()).collect();
        names.join(", ")
    }
}

/// A file by its content; `None` if it is empty.
fn of_file(
    file: &Path,
    content: io::Result<(String, Option<u32>)>,
) -> Result<Option<(Origin, Arc<Node>)>, ConfigError> {
    let (text, writable) = content.map_err(|error| ConfigError::unreadable("kubeconfig", file, &error))?;
    document(Origin::File(file.to_owned(), writable), &text)
}

/// The content of a file, and its permissions if others may write it.
fn content(file: &Path) -> io::Result<(String, Option<u32>)> {
    let mut bytes = Vec::new();
    let file = File::open(file)?;
    let writable = file.metadata().ok().and_then(|metadata| writable_by_others(&metadata));
    let len = file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if len as u64 > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 16 MiB"));
    }
    Ok((yaml::text(bytes)?, writable))
}

/// The permissions, if others may write. A group with the owner's number usually has no other members.
#[cfg(unix)]
fn writable_by_others(metadata: &Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let mode = metadata.mode() & 0o7777;
    let others = if metadata.gid() == metadata.uid() { 0o002 } else { 0o022 };
    (metadata.is_file() && mode & others != 0).then_some(mode)
}

#[cfg(not(unix))]
fn writable_by_others(_: &Metadata) -> Option<u32> {
    None
}

/// Parses a kubeconfig; `None` if it is empty.
fn document(file: Origin, text: &str) -> Result<Option<(Origin, Arc<Node>)>, ConfigError> {
    let fault = |(line, what): yaml::Fault| file.fault(line, format_args!("this YAML cannot be read: {what}"));
    let Some(root) = yaml::parse(text).map_err(fault)?.filter(|root| !root.is_null()) else { return Ok(None) };
    if !matches!(root.value, Value::Map(_)) {
        return Err(file.fault(root.line, "this is no kubeconfig: it is no map at the top"));
    }
    for (key, expected) in [("apiVersion", "v1"), ("kind", "Config")] {
        let is_other =
            |node: &&Arc<Node>| !matches!(&node.value, Value::Scalar(text, _) if text.is_empty() || text == expected);
        if let Some(node) = root.entry(key).filter(is_other) {
            return Err(file.fault(node.line, format_args!("this is no kubeconfig: its `{key}` is not {expected}")));
        }
    }
    for list in ["contexts", "clusters", "users"] {
        let mut names = BTreeSet::new();
        if let Some(twin) =
            items(&file, &root, list)?.iter().find(|item| name_of(item).is_some_and(|it| !names.insert(it)))
        {
            let name = name_of(twin).unwrap_or_default();
            return Err(file.fault(twin.line, format_args!("`{list}` has another `{name}` before: remove one of them")));
        }
    }
    Ok(Some((file, root)))
}

fn items<'a>(file: &Origin, root: &'a Node, list: &str) -> Result<&'a [Arc<Node>], ConfigError> {
    match root.entry(list).map(|node| (node.line, &node.value)) {
        None => Ok(&[]),
        Some((_, Value::List(items))) => Ok(items),
        Some((line, _)) => Err(file.fault(line, format_args!("`{list}` is no list"))),
    }
}

fn name_of(item: &Arc<Node>) -> Option<&str> {
    match &item.entry("name")?.value {
        Value::Scalar(name, _) => Some(name),
        _ => None,
    }
}
