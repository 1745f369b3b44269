//! The options of requests, and those that a server refuses.

use super::refusal::{Cause, FieldError, Refusal};
use super::target::Target;
use serde_json::{Value, json};

/// The most bytes of the name of a field manager.
const MANAGER: usize = 128;

/// What becomes of unknown fields.
const VALIDATIONS: [&str; 4] = ["", "Ignore", "Strict", "Warn"];

/// Checks the options of a write; `kind` is theirs, such as `CreateOptions`.
pub(super) fn check_write(target: &Target, kind: &str) -> Result<(), Refusal> {
    let mut errors = Vec::new();
    if let Some(other) = target.parameter("dryRun").filter(|dry_run| *dry_run != "All") {
        errors.push(no_dry_run(&json!([other])));
    }
    if let Some(other) = target.parameter("fieldValidation").filter(|given| !VALIDATIONS.contains(given)) {
        errors.push(FieldError::unsupported("fieldValidation", other, &VALIDATIONS));
    }
    if target.parameter("fieldManager").is_some_and(|manager| manager.len() > MANAGER) {
        errors.push(FieldError::too_long("fieldManager", MANAGER));
    }
    done(kind, &errors)
}

fn no_dry_run(given: &Value) -> FieldError {
    FieldError::new(Cause::Unsupported, "dryRun", format!("{given}: supported values: \"All\""))
}

/// Checks the options of a deletion.
pub(super) fn check_deletion(options: &Value) -> Result<(), Refusal> {
    if let Some(kind) = options["kind"].as_str().filter(|kind| !kind.is_empty() && *kind != "DeleteOptions") {
        let version = options["apiVersion"].as_str().unwrap_or_default();
        return Err(Refusal::bad_request(format!("no kind {kind:?} is registered for version {version:?}")));
    }
    let (mut errors, policy) = (Vec::new(), &options["propagationPolicy"]);
    if policy.is_string() && options["orphanDependents"].is_boolean() {
        let why = format!("{policy}: orphanDependents and deletionPropagation cannot be both set");
        errors.push(FieldError::new(Cause::Invalid, "propagationPolicy", why));
    }
    if !policy.is_null() && !["Foreground", "Background", "Orphan"].iter().any(|known| policy == known) {
        let why = format!("{policy}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
        errors.push(FieldError::new(Cause::Unsupported, "propagationPolicy", why));
    }
    let dry_run = &options["dryRun"];
    if dry_run.as_array().is_some_and(|values| values.iter().any(|value| value != "All")) {
        errors.push(no_dry_run(dry_run));
    }
    done("DeleteOptions", &errors)
}

/// Checks the options of a list or a watch (apimachinery `internalversion/validation`).
pub(super) fn check_read(target: &Target) -> Result<(), Refusal> {
    check_numbers(target)?;
    let matching = target.parameter("resourceVersionMatch");
    let mut errors = Vec::new();
    let mut forbid = |field: &str, why: &str| errors.push(FieldError::new(Cause::Forbidden, field, why));
    let initial = target.parameter("sendInitialEvents").is_some();
    let is_watch = target.flag("watch");
    let field = "resourceVersionMatch";
    match (matching, is_watch) {
        (Some(_), true) if !initial => {
            forbid(field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
        }
        (Some(_), false) if target.parameter("resourceVersion").is_none() => {
            forbid(field, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        _ => {}
    }
    if target.parameter("continue").is_some() && (is_watch || matching.is_some()) {
        forbid(field, "resourceVersionMatch is forbidden when continue is provided");
    }
    if initial && is_watch && matching != Some("NotOlderThan") {
        forbid(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if matching == Some("Exact") && !is_watch && target.parameter("resourceVersion") == Some("0") {
        forbid(field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    let supported: &[&str] = if is_watch { &["NotOlderThan"] } else { &["Exact", "NotOlderThan", ""] };
    let unsupported = matching.filter(|matching| !supported.contains(matching)).map(|matching| {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        FieldError::new(Cause::Unsupported, field, format!("{matching:?}: supported values: {}", supported.join(", ")))
    });
    if initial && !is_watch {
        forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    errors.extend(unsupported);
    done("ListOptions", &errors)
}

/// Checks the options of a list or a watch that are numbers.
pub(super) fn check_numbers(target: &Target) -> Result<(), Refusal> {
    ["limit", "timeoutSeconds"].iter().try_for_each(|name| number(target, name).map(drop))
}

/// A parameter that is a number; `None` if it is absent.
pub(super) fn number(target: &Target, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(text) = target.parameter(name) else { return Ok(None) };
    let invalid = |_| Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
    text.parse().map(Some).map_err(invalid)
}

fn done(kind: &str, errors: &[FieldError]) -> Result<(), Refusal> {
    if errors.is_empty() { Ok(()) } else { Err(Refusal::invalid_options(kind, errors)) }
}
