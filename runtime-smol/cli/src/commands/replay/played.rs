//! The resources of a recording that are played.

use crate::arguments::ReplayOptions;
use crate::error::CommandError;
use crate::resource::resource_of;
use listwatch::Resource;
use listwatch::file::Playback;
use listwatch::text::Printable;

/// The resources that are played: the one that the arguments name, or all.
pub(super) struct Played {
    resources: Vec<Resource>,
    is_named: bool,
}

/// The resources that are told, of those that are not played.
const TOLD: usize = 20;
/// The characters of each, so that its line fits a terminal.
const WIDTH: usize = 70;

impl Played {
    /// The resource that `--resource` names, or all.
    ///
    /// # Errors
    /// The recording does not have it.
    pub(super) fn of(options: &ReplayOptions, playback: &Playback) -> Result<Self, CommandError> {
        let Some(name) = &options.resource else { return Ok(Self { resources: all(playback), is_named: false }) };
        let parsed: Option<Resource> = name.parse().ok();
        let is_named = |resource: &&Resource| {
            resource.to_string() == *name
                || parsed.as_ref().map_or_else(|| is_called(resource, name), |parsed| is_same(parsed, resource))
        };
        let found = playback.resources().iter().find(is_named).cloned();
        let found = found.or_else(|| resource_of(name).filter(|_| playback.has_unnamed()));
        let unknown = || {
            let names = playback.resources().iter().map(ToString::to_string).collect();
            CommandError::NotRecorded { file: options.file.clone(), name: name.clone(), names }
        };
        found.map(|resource| Self { resources: vec![resource], is_named: true }).ok_or_else(unknown)
    }

    /// At least one, as metadata: a recording may have metadata, whole objects or both.
    pub(super) fn resources(&self) -> Vec<Resource> {
        self.resources.iter().map(|resource| resource.clone().metadata_only()).collect()
    }

    /// The first one, unless the recording names none.
    pub(super) fn first(&self) -> Option<&Resource> {
        self.resources.first().filter(|resource| resource.path() != UNNAMED)
    }

    /// The lines of the summary, unless all of one resource was played.
    pub(super) fn told(&self, playback: &Playback) -> Vec<String> {
        let is_of_controller = playback.has_reconciles();
        let is_left = |other: &&Resource| !self.resources.iter().any(|played| is_same(played, other));
        let left: Vec<&Resource> = playback.resources().iter().filter(is_left).collect();
        if left.is_empty() && !is_of_controller && self.resources.len() == 1 {
            return Vec::new();
        }
        let shown = |resource: &Resource| Printable::new(resource.to_string()).at_most(WIDTH).to_string();
        let named = |all: &mut dyn Iterator<Item = &Resource>, ending: &str| {
            all.take(TOLD).map(|resource| format!("{}{ending}", shown(resource))).collect::<Vec<_>>()
        };
        let mut lines = named(&mut self.resources.iter(), " was played");
        let more = |all: usize| (all > TOLD).then(|| format!("and {} more", all - TOLD));
        lines.extend(more(self.resources.len()));
        if !left.is_empty() && self.is_named {
            lines.push(format!("not played, unless --resource names it ({}):", left.len()));
            lines.extend(named(&mut left.iter().copied(), ""));
            lines.extend(more(left.len()));
        }
        let controller = "a controller recorded itself here: its own program replays all of it";
        lines.extend(is_of_controller.then(|| controller.to_owned()));
        lines
    }
}

/// The path that stands for the objects of a recording that do not say their resource.
const UNNAMED: &str = "/recording";

/// Each resource of a recording once, and the objects that do not say theirs.
fn all(playback: &Playback) -> Vec<Resource> {
    let mut all = Vec::<Resource>::new();
    for resource in playback.resources() {
        if !all.iter().any(|known| is_same(known, resource)) {
            all.push(resource.clone());
        }
    }
    if all.is_empty() || playback.has_unnamed() {
        all.push(Resource::new(UNNAMED));
    }
    all
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
