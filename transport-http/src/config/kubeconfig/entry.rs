use crate::config::yaml::{Node, Value};
use crate::error::ConfigError;
use crate::secret::{Material, Secret};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::fmt;
use std::path::{Path, PathBuf};

/// A cluster, user or context, or a part of one, with its place in the file.
pub(super) struct Entry<'a> {
    pub(super) file: &'a Origin,
    pub(super) kind: &'static str,
    pub(super) name: &'a str,
    pub(super) node: &'a Node,
}

impl<'a> Entry<'a> {
    /// File, line, kind and name, for later errors.
    pub(super) fn place(&self) -> String {
        format!("{}:{}: {} `{}`", self.file, self.node.line, self.kind, self.name)
    }

    /// An error about this entry.
    pub(super) fn fault(&self, what: impl fmt::Display) -> ConfigError {
        self.fault_in(self.node.line, what)
    }

    pub(super) fn fault_in(&self, line: usize, what: impl fmt::Display) -> ConfigError {
        self.file.fault(line, format_args!("{} `{}` {what}", self.kind, self.name))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.node.entry(key).is_some()
    }

    /// A value in it, as a part of the same entry.
    pub(super) fn part(&self, key: &str) -> Option<Self> {
        self.node.entry(key).map(|node| Entry { node, ..*self })
    }

    /// A non-empty text.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        match self.node.entry(key).map(|node| (node.line, &node.value)) {
            None => Ok(None),
            Some((_, Value::Scalar(text, _))) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some((line, _)) => Err(self.fault_in(line, format!("has a `{key}` that is no text"))),
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, ConfigError> {
        match self.text(key)?.map(str::to_ascii_lowercase).as_deref() {
            None | Some("false" | "no" | "off" | "n") => Ok(false),
            Some("true" | "yes" | "on" | "y") => Ok(true),
            Some(_) => Err(self.fault(format!("has a `{key}` that is neither true nor false"))),
        }
    }

    /// A path, relative to the folder of the file.
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        self.text(key)?.map(|path| self.resolve(path)).transpose()
    }

    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, ConfigError> {
        let file = self.file.path().ok_or_else(|| {
            self.fault(
                "names a file, which is not allowed in a kubeconfig given as text: give its content (`…-data`, `token`)",
            )
        })?;
        Ok(file.parent().unwrap_or(file).join(path))
    }

    /// A certificate or a key: the content of `NAME-data`, or of the file `NAME`. As with kubectl, it is not both.
    pub(super) fn material(&self, name: &str) -> Result<Option<Material>, ConfigError> {
        let data = format!("{name}-data");
        let Some(text) = self.text(&data)? else {
            return Ok(self.path(name)?.map(|path| Material::file(name.replace('-', " "), path)));
        };
        let packed: String = text.split_ascii_whitespace().collect();
        let content = BASE64_STANDARD.decode(packed);
        let content = content.map_err(|_| self.fault(format!("has a `{data}` that is not base64")))?;
        if self.text(name)?.is_some() {
            return Err(self.fault(format!("has a `{name}` and a `{data}`: remove one of them")));
        }
        Ok(Some(Material::Data(Secret::new(content), format!("{}, `{data}`", self.place()))))
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&'a str>, ConfigError> {
        let Some(node) = self.node.entry(key) else { return Ok(Vec::new()) };
        let fault = |line| self.fault_in(line, format!("has a `{key}` that is no list of texts"));
        let Value::List(items) = &node.value else { return Err(fault(node.line)) };
        let text = |item: &'a std::sync::Arc<Node>| match &item.value {
            Value::Scalar(text, _) => Ok(text.as_str()),
            _ => Err(fault(item.line)),
        };
        items.iter().map(text).collect()
    }

    /// The keys of a map.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let entries = if let Value::Map(entries) = &self.node.value { Some(entries) } else { None };
        entries.into_iter().flat_map(|entries| entries.keys()).map(|key| &**key)
    }

    /// The maps of a list.
    pub(super) fn parts(&self, key: &str) -> Vec<Self> {
        let items = match self.node.entry(key).map(|node| &node.value) {
            Some(Value::List(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().map(|node| Entry { node, ..*self }).collect()
    }
}

/// The origin of a kubeconfig.
pub(super) enum Origin {
    /// A file, and its permissions if others may write it.
    File(PathBuf, Option<u32>),
    /// A text, which has no folder.
    Text,
}

impl Origin {
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => Some(path),
            Self::Text => None,
        }
    }

    pub(super) fn fault(&self, line: usize, what: impl fmt::Display) -> ConfigError {
        ConfigError::new(format!("{self}:{line}: {what}"))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, _) => path.display().fmt(f),
            Self::Text => f.write_str("the given kubeconfig"),
        }
    }
}
