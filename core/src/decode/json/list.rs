use super::reader::{Given, Reader, Text};
use alloc::format;
use alloc::string::String;
use serde::Deserialize;

/// The fields of a list besides its items (`metav1.ListMeta` and `TypeMeta`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// The kind of the items, as JSON; empty if the list does not name it.
    kind: String,
    /// The same of their group and version.
    api_version: String,
    version: String,
    token: String,
}

impl ListMeta {
    /// Reads a field, whose value is JSON. Unknown and invalid fields are ignored; the reflector deals with a list
    /// without a version.
    pub fn read_field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"kind" => {
                let kind = string(value).strip_suffix("List\"").filter(|kind| *kind != "\"");
                self.kind = kind.map(|kind| format!("{kind}\"")).unwrap_or_default();
            }
            b"apiVersion" => self.api_version = string(value).into(),
            b"metadata" => {
                let metadata: Metadata<'_> = read(value);
                self.version = metadata.resource_version.unwrap_or_default().as_str().into();
                self.token = metadata.r#continue.unwrap_or_default().as_str().into();
            }
            _ => {}
        }
    }

    /// Clears the fields, for the next page.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The version of the list; empty where it has none, as in lists that kubectl prints.
    pub fn resource_version(&self) -> &str {
        &self.version
    }

    /// The token of the next page; empty on the last page.
    pub fn continue_token(&self) -> &str {
        &self.token
    }

    /// The types of the items, where the list names them: a `PodList` has pods, a `List` has any kind.
    pub(super) fn item_types(&self) -> Given<'_> {
        let api_version = if self.kind.is_empty() { "" } else { &self.api_version };
        [("kind", &self.kind), ("apiVersion", api_version)]
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "'de: 'a"))]
struct Metadata<'a> {
    resource_version: Option<Text<'a>>,
    r#continue: Option<Text<'a>>,
}

/// The value, if it is a string.
fn string(json: &[u8]) -> &str {
    let text = str::from_utf8(json).ok().filter(|json| Reader::value::<Text<'_>>(json).is_ok());
    text.map_or("", str::trim)
}

fn read<'a, T: Deserialize<'a> + Default>(json: &'a [u8]) -> T {
    str::from_utf8(json).ok().and_then(|json| Reader::value(json).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_the_items_is_the_lists_without_its_ending() {
        let mut list = ListMeta::default();
        list.read_field(b"kind", b"\"PodList\"");
        list.read_field(b"apiVersion", b"\"v1\"");
        assert_eq!(list.item_types(), [("kind", "\"Pod\""), ("apiVersion", "\"v1\"")]);
        list.read_field(b"kind", b"\"List\"");
        assert_eq!(list.item_types(), [("kind", ""), ("apiVersion", "")]);
    }

    #[test]
    fn the_metadata_of_a_list_may_be_null_or_empty() {
        let mut list = ListMeta::default();
        list.read_field(b"metadata", br#"{"resourceVersion":"12","continue":"abc","remainingItemCount":3}"#);
        assert_eq!((list.resource_version(), list.continue_token()), ("12", "abc"));
        list.read_field(b"metadata", br#"{"resourceVersion":"","continue":null}"#);
        assert_eq!((list.resource_version(), list.continue_token()), ("", ""));
    }
}
