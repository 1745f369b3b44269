//! The resource of a recording that is played.

use crate::arguments::ReplayOptions;
use crate::error::CommandError;
use listwatch::Resource;
use listwatch::file::Playback;
use listwatch::text::Printable;

/// The resource that is played; `None` for a file that names none.
pub(super) struct Played(pub(super) Option<Resource>);

/// The resources that are told, of those that are not played.
const TOLD: usize = 20;
/// The characters of each, so that its line fits a terminal.
const WIDTH: usize = 80;

impl Played {
    /// The resource that `--resource` names, or the first one.
    ///
    /// # Errors
    /// The recording does not have it.
    pub(super) fn of(options: &ReplayOptions, playback: &Playback) -> Result<Self, CommandError> {
        let Some(name) = &options.resource else { return Ok(Self(playback.resource().cloned())) };
        let parsed: Option<Resource> = name.parse().ok();
        let is_named = |resource: &&Resource| {
            resource.to_string() == *name
                || parsed.as_ref().map_or_else(|| is_called(resource, name), |parsed| is_same(parsed, resource))
        };
        let found = playback.resources().iter().find(is_named).cloned();
        let unknown = || {
            let names = playback.resources().iter().map(ToString::to_string).collect();
            CommandError::NotRecorded { file: options.file.clone(), name: name.clone(), names }
        };
        found.map(|resource| Self(Some(resource))).ok_or_else(unknown)
    }

    /// The lines of the summary, unless all of the recording was played.
    pub(super) fn told(&self, playback: &Playback) -> Vec<String> {
        let Some(played) = &self.0 else { return Vec::new() };
        let left: Vec<&Resource> = playback.resources().iter().filter(|other| !is_same(played, other)).collect();
        let is_of_controller = playback.has_reconciles();
        if left.is_empty() && !is_of_controller {
            return Vec::new();
        }
        let mut lines = vec![format!("{played} was played")];
        if !left.is_empty() {
            lines.push(format!("not played, unless --resource names it ({}):", left.len()));
        }
        lines.extend(left.iter().take(TOLD).map(|other| Printable::new(other.to_string()).at_most(WIDTH).to_string()));
        lines.extend((left.len() > TOLD).then(|| format!("and {} more", left.len() - TOLD)));
        let controller = "a controller recorded itself here: its own program replays all of it";
        lines.extend(is_of_controller.then(|| controller.to_owned()));
        lines
    }
}

/// Whether kubectl calls a resource so: `deployments`, `deployment`, `Deployment.apps`.
fn is_called(resource: &Resource, name: &str) -> bool {
    let name = name.to_lowercase();
    let (kind, of) = name.split_once('.').map_or((&*name, None), |(kind, of)| (kind, Some(of)));
    let plural = resource.path().rsplit('/').next().unwrap_or_default();
    let group = resource.path().split_once("/apis/").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    let is_plural = plural.strip_prefix(kind).is_some_and(|ending| matches!(ending, "" | "s" | "es"));
    is_plural && of.is_none_or(|of| of == group)
}

/// Whether both are one resource, as whole objects or as metadata.
fn is_same(one: &Resource, other: &Resource) -> bool {
    one.clone().metadata_only() == other.clone().metadata_only()
}
