//! Lists: of a version, by pages.

use super::cache::Cache;
use super::events;
use super::form::Form;
use super::options;
use super::refusal::Refusal;
use super::selector::Selection;
use super::store::State;
use super::target::Target;
use crate::kinds::ServedKind;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The answer to a list.
pub(super) fn list(cache: &Cache<'_>, kind: &ServedKind, target: &Target, form: &Form) -> Result<Vec<u8>, Refusal> {
    options::check_numbers(target)?;
    let selection = Selection::of(target, kind)?;
    let (wanted, start) = Wanted::of(target)?;
    if let Some(least) = wanted.least().filter(|least| !cache.has(*least)) {
        return Err(Refusal::too_large(least, cache.version()));
    }
    let revision = match wanted {
        Wanted::Newest => cache.newest,
        Wanted::NotOlderThan(_) => cache.version(),
        Wanted::Exact(version) => version,
    };
    let prefix = prefix(target);
    let relative = |key: &str| key.strip_prefix(&*prefix).unwrap_or(key).to_owned();
    let state = cache.collection.state(revision).map_err(|_| expired(&relative(&start)))?;
    let (items, rest) = cut(&state, &selection, &start, limit(target, kind)?);
    let rest = rest.map(|(start, count)| {
        let remaining = (!selection.is_filtered()).then_some(count);
        (Page { version: Some(revision), start: relative(&start) }.token(), remaining)
    });
    Ok(body(kind, form, &metadata(revision, rest, &selection), &items))
}

/// What all keys of a list begin with, which its tokens leave out.
fn prefix(target: &Target) -> String {
    if target.namespace.is_empty() { String::new() } else { format!("{}/", target.namespace) }
}

/// The most items of a page. A list of any version has one page, but for Events, of which a server has no cache.
fn limit(target: &Target, kind: &ServedKind) -> Result<usize, Refusal> {
    let has_cache = kind.name() != events::STORED;
    let is_any_version =
        has_cache && target.parameter("resourceVersion") == Some("0") && target.parameter("continue").is_none();
    let limit = options::number(target, "limit")?.filter(|limit| *limit > 0 && !is_any_version);
    Ok(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
}

/// The version that a list is to have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    Newest,
    NotOlderThan(u64),
    Exact(u64),
}

impl Wanted {
    /// The version that a list is to have, and the key of the last item before it.
    pub(super) fn of(target: &Target) -> Result<(Self, String), Refusal> {
        if let Some(token) = target.parameter("continue") {
            let page = Page::parse(token)?;
            return Ok((page.version.map_or(Self::Newest, Self::Exact), prefix(target) + &page.start));
        }
        let invalid = |why| Refusal::bad_request(format!("invalid resource version: {why}"));
        let wanted = match (version(target).map_err(invalid)?, target.parameter("resourceVersionMatch")) {
            (None, _) => Self::Newest,
            (Some(asked), Some("Exact")) => Self::Exact(asked),
            // As before there was a match rule.
            (Some(asked), None) if asked > 0 && target.parameter("limit").is_some() => Self::Exact(asked),
            (Some(asked), _) => Self::NotOlderThan(asked),
        };
        Ok((wanted, String::new()))
    }

    /// The version that the cache has to have.
    pub(super) fn least(self) -> Option<u64> {
        match self {
            Self::Newest => None,
            Self::NotOlderThan(version) | Self::Exact(version) => Some(version),
        }
    }
}

/// The version that is asked for, or what is wrong with it.
pub(super) fn version(target: &Target) -> Result<Option<u64>, String> {
    let Some(text) = target.parameter("resourceVersion") else { return Ok(None) };
    let invalid = |_| {
        format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax")
    };
    text.parse().map(Some).map_err(invalid)
}

/// The items of a page and, if there may be more, the key of the last item and how many follow.
fn cut<'s>(
    state: &State<'s>,
    selection: &Selection,
    start: &str,
    limit: usize,
) -> (Vec<&'s Arc<Value>>, Option<(String, usize)>) {
    let mut unread = state.iter().filter(|(key, object)| **key > start && selection.reads(object));
    let selected: Vec<_> = unread.by_ref().filter(|(_, object)| selection.matches(object)).take(limit).collect();
    // A server looks no further than the page: what follows may be nothing that is selected.
    let (left, last) = (unread.count(), selected.last().map(|(key, _)| (**key).to_owned()));
    let rest = last.filter(|_| left > 0).map(|last| (last, left));
    (selected.iter().map(|(_, object)| **object).collect(), rest)
}

/// The metadata of a list, with the token of the rest and, where it is known, how many items it has.
fn metadata(revision: u64, rest: Option<(String, Option<usize>)>, selection: &Selection) -> Value {
    let mut metadata = json!({ "resourceVersion": revision.to_string() });
    if let Some((token, remaining)) = rest {
        metadata["continue"] = json!(token);
        remaining.into_iter().for_each(|remaining| metadata["remainingItemCount"] = json!(remaining));
    }
    if let Some(shards) = selection.shards() {
        metadata["shardInfo"] = json!({ "selector": shards.text() });
    }
    metadata
}

fn body(kind: &ServedKind, form: &Form, metadata: &Value, items: &[&Arc<Value>]) -> Vec<u8> {
    let (list_kind, api_version) = form.list_type(&kind.api_version, &kind.kind);
    let items: Vec<String> = items.iter().map(|item| form.write_item(item, kind.is_custom())).collect();
    let items = items.join(",");
    let (list_kind, api_version) = (json!(list_kind), json!(api_version));
    let is_null = *form == Form::Metadata && items.is_empty();
    let items = if is_null { "null".to_owned() } else { format!("[{items}]") };
    format!(r#"{{"kind":{list_kind},"apiVersion":{api_version},"metadata":{metadata},"items":{items}}}"#).into_bytes()
}

/// Where a list goes on.
struct Page {
    /// The version of the first page; `None` for the current one, by a token that was offered in place of an expired one.
    version: Option<u64>,
    /// The key of the last item before it.
    start: String,
}

/// A continue token (apimachinery `storage.continueToken`).
#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

impl Page {
    fn parse(token: &str) -> Result<Self, Refusal> {
        let invalid =
            |error: String| Refusal::bad_request(format!("invalid continue token: continue key is not valid: {error}"));
        let json = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|error| invalid(error.to_string()))?;
        let token: Token = serde_json::from_slice(&json).map_err(|error| invalid(error.to_string()))?;
        if token.v != TOKEN_VERSION {
            return Err(invalid(format!("server does not recognize this encoded version {}", token.v)));
        }
        let start = token.start.trim_start_matches('/').trim_end_matches('\0').to_owned();
        Ok(Self { version: u64::try_from(token.rv).ok(), start })
    }

    fn token(&self) -> String {
        let rv = self.version.map_or(-1, |version| i64::try_from(version).unwrap_or(i64::MAX));
        let token = json!({ "v": TOKEN_VERSION, "rv": rv, "start": format!("{}\0", self.start) });
        BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
    }
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// The version of a page is forgotten. The token that is offered goes on with what there is.
fn expired(start: &str) -> Refusal {
    if start.is_empty() {
        let message = "The resourceVersion for the provided list is too old.";
        return Refusal::new(410, "Expired", message);
    }
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                   list without the continue parameter, or use the continue token in this response to retrieve the \
                   remainder of the results. Continuing with the provided token results in an inconsistent list - \
                   objects that were created, modified, or deleted between the time the first chunk was returned and \
                   now may show up in the list.";
    let mut refusal = Refusal::new(410, "Expired", message);
    if let Some(status) = &mut refusal.status {
        status["metadata"]["continue"] = json!(Page { version: None, start: start.to_owned() }.token());
    }
    refusal
}
