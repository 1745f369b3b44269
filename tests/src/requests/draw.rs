//! The requests of a seed.

use super::Request;
use super::bodies::{self, one};
use super::oddities::oddity;
use super::side::GENERATED;
use super::specimen::{SPECIMENS, Specimen};
use crate::answers::Step;
use crate::sim::Dice;
use serde_json::{Value, json};

/// Draws the kinds of a seed, and as many requests for their objects. A list of each kind comes first.
#[must_use]
pub fn draw(seed: u64, count: usize) -> Vec<Request> {
    let mut draw = Draw::new(seed);
    let mut requests: Vec<Request> = draw.specimens.iter().map(|specimen| first_list(specimen)).collect();
    while requests.len() < count {
        draw.request(&mut requests);
    }
    requests
}

/// The watches that are told of all that a seed's requests did to the objects of each kind.
#[must_use]
pub fn watches(seed: u64) -> Vec<Request> {
    let mut draw = Draw::new(!seed);
    draw.specimens = Draw::new(seed).specimens;
    draw.specimens.clone().into_iter().map(|specimen| draw.watch(specimen)).collect()
}

struct Draw {
    dice: Dice,
    specimens: Vec<&'static Specimen>,
    oddities: Vec<&'static str>,
}

/// How many kinds the requests of a seed are about.
const KINDS: usize = 5;
/// The kinds that most controllers have to do with.
const COMMON: usize = 4;
const USUAL: [&str; 9] =
    ["configmaps", "secrets", "services", "pods", "deployments", "jobs", "leases", "wheels", "cogs"];
/// The names of objects.
pub const NAMES: [&str; 3] = ["a", "b", "c"];

type Method = fn(&mut Draw, &'static Specimen, &mut Vec<Request>);

/// The methods, each with a weight.
const METHODS: [(u64, Method); 12] = [
    (22, Draw::create),
    (7, Draw::get),
    (6, Draw::list),
    (16, Draw::put),
    (12, Draw::merge),
    (6, Draw::json),
    (6, Draw::strategic),
    (10, Draw::apply),
    (9, Draw::delete),
    (1, Draw::delete_collection),
    (3, Draw::scale),
    (2, Draw::stray),
];

impl Draw {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut specimens: Vec<&Specimen> = Vec::new();
        let usual: Vec<&Specimen> =
            SPECIMENS.iter().filter(|it| USUAL.iter().any(|end| it.collection.ends_with(end))).collect();
        let all: Vec<&Specimen> = SPECIMENS.iter().collect();
        while specimens.len() < KINDS {
            let from = if specimens.len() < COMMON { &usual } else { &all };
            let drawn = dice.pick(from);
            if !specimens.iter().any(|it| it.collection == drawn.collection) {
                specimens.push(drawn);
            }
        }
        Self { dice, specimens, oddities: Vec::new() }
    }

    fn request(&mut self, requests: &mut Vec<Request>) {
        let specimen = self.dice.pick(&self.specimens);
        let sum = METHODS.iter().map(|(weight, _)| weight).sum();
        let mut drawn = self.dice.below(sum);
        for (weight, method) in METHODS {
            if drawn < weight {
                return method(self, specimen, requests);
            }
            drawn -= weight;
        }
    }

    /// The name of an object.
    fn name(&mut self, specimen: &Specimen) -> String {
        specimen.name(self.dice.pick(&NAMES))
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.dice.chance(percent)
    }

    /// A chance, which is noted if it comes.
    fn is_odd(&mut self, percent: u64, name: &'static str) -> bool {
        let comes = self.chance(percent);
        if comes {
            self.oddities.push(name);
        }
        comes
    }

    fn done(&mut self, specimen: &'static Specimen, name: &str, request: String, body: String) -> Request {
        let step = Step { request, body, ..Step::default() };
        Request { specimen, name: name.to_owned(), step, oddities: std::mem::take(&mut self.oddities) }
    }

    /// Makes a body unusual at times, and writes it.
    fn text(&mut self, percent: u64, specimen: &Specimen, mut body: Value) -> String {
        if self.chance(percent) {
            for _ in 0..=self.dice.below(4) / 3 {
                let oddity = oddity(&mut self.dice);
                self.oddities.push(oddity.name);
                (oddity.apply)(&mut self.dice, specimen, &mut body);
            }
        }
        if self.is_odd(1, "no JSON") {
            return "{\"metadata\":".to_owned();
        }
        if self.is_odd(1, "no object") {
            return "[1]".to_owned();
        }
        body.to_string()
    }

    /// Parameters of a write.
    fn parameters(&mut self) -> Vec<String> {
        let mut parameters = Vec::new();
        if self.is_odd(6, "dry run") {
            parameters.push("dryRun=All".to_owned());
        } else if self.is_odd(1, "bad dry run") {
            parameters.push("dryRun=Some".to_owned());
        }
        if self.chance(10) {
            parameters.push(format!("fieldManager={}", self.dice.pick(&["m1", "m2"])));
        }
        if self.is_odd(4, "validation of fields") {
            parameters.push(format!("fieldValidation={}", self.dice.pick(&["Strict", "Ignore", "Warn", "Loose"])));
        }
        parameters
    }

    fn create(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let name = self.name(specimen);
        let mut object = bodies::object(&mut self.dice, specimen, &name);
        if !specimen.statuses.is_empty() && self.is_odd(15, "status of a new object") {
            object["status"] = bodies::status(&mut self.dice, specimen);
        }
        let is_generated = self.is_odd(5, GENERATED);
        if is_generated {
            let metadata = object["metadata"].as_object_mut();
            metadata.into_iter().for_each(|it| drop(it.remove("name")));
            object["metadata"]["generateName"] = json!(specimen.name("gen-"));
        }
        let text = if is_generated { object.to_string() } else { self.text(30, specimen, object) };
        let target = with_query(&specimen.path(), &self.parameters());
        let name = if is_generated { String::new() } else { name };
        requests.push(self.done(specimen, &name, format!("POST {target}"), text));
    }

    /// The path of an object, or of a part of it.
    fn object_path(&mut self, specimen: &Specimen, name: &str, status: u64) -> String {
        let path = format!("{}/{name}", specimen.path());
        if !specimen.statuses.is_empty() && self.chance(status) {
            return path + "/status";
        }
        if self.is_odd(1, "unknown part") { path + "/nosuch" } else { path }
    }

    fn get(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let name = self.name(specimen);
        let path = self.object_path(specimen, &name, 10);
        let verb = if self.chance(15) { "METADATA" } else { "GET" };
        let target = if self.chance(5) { path + "?resourceVersion=<version KEY>" } else { path };
        let target = target.replace("KEY", &specimen.key(&name));
        requests.push(self.done(specimen, &name, format!("{verb} {target}"), String::new()));
    }

    fn list(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let mut selectors = self.selectors(specimen);
        let verb = if self.chance(10) { "METADATAS" } else { "GET" };
        let version = match self.dice.below(20) {
            0 | 1 => "resourceVersion=0",
            2 => "resourceVersion=<version KEY>&resourceVersionMatch=Exact",
            3 => "resourceVersion=<version KEY>&resourceVersionMatch=NotOlderThan",
            4 => "resourceVersion=<version KEY>",
            5 => dice_pick(
                &mut self.dice,
                &["resourceVersion=abc", "resourceVersionMatch=Exact", "limit=x", "sendInitialEvents=true"],
            ),
            _ => "",
        };
        if version == "resourceVersion=0" || version.ends_with("KEY>") || version.ends_with("NotOlderThan") {
            self.oddities.push("any version");
        }
        if !version.is_empty() {
            selectors.push(version.replace("KEY", &specimen.key("")));
        }
        let is_paged = self.chance(30);
        let pages = if is_paged { self.dice.below(3) } else { 0 };
        // Behind an answer that is late, all pages are, and none can be asked for again.
        let pages = if self.oddities.contains(&"any version") { 0 } else { pages };
        if is_paged {
            selectors.push(format!("limit={}", 1 + self.dice.below(2)));
        }
        let target = with_query(&specimen.path(), &selectors);
        requests.push(self.done(specimen, "", format!("{verb} {target}"), String::new()));
        selectors.retain(|it| !it.starts_with("resourceVersion") && !it.starts_with("sendInitial"));
        selectors.push("continue={continue}".to_owned());
        for _ in 0..pages {
            let target = with_query(&specimen.path(), &selectors);
            self.oddities.push("a page");
            requests.push(self.done(specimen, "", format!("{verb} {target}"), String::new()));
        }
    }

    fn selectors(&mut self, specimen: &Specimen) -> Vec<String> {
        let mut selectors = Vec::new();
        let label = if self.chance(40) { self.dice.pick(&LABELS) } else { "" };
        match (specimen.cluster, label) {
            (false, "") => {}
            (false, label) => selectors.push(format!("labelSelector={}", label.replace(" ", "%20"))),
            (true, "") => selectors.push("labelSelector=of%3D{ns}".to_owned()),
            (true, label) => selectors.push(format!("labelSelector=of%3D{{ns}},{}", label.replace(" ", "%20"))),
        }
        if self.chance(25) {
            let own = one(&mut self.dice, &specimen.fields).cloned();
            let field = own
                .filter(|_| self.chance(70))
                .unwrap_or_else(|| self.dice.pick(&FIELDS).replace("NAME", &specimen.name("a")));
            selectors.push(format!("fieldSelector={}", field.replace('=', "%3D")));
        }
        selectors
    }

    fn put(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let name = self.name(specimen);
        let path = self.object_path(specimen, &name, 20);
        let mut object = bodies::object(&mut self.dice, specimen, &name);
        if path.ends_with("/status") || self.chance(10) {
            object["status"] = bodies::status(&mut self.dice, specimen);
        }
        let version = match self.dice.below(20) {
            0..7 => "",
            7..16 => "<version KEY>",
            16..19 => "<older KEY>",
            _ => self.dice.pick(&["0", "abc", "99999999"]),
        };
        let key = specimen.key(&name);
        if !version.is_empty() {
            object["metadata"]["resourceVersion"] = json!(version.replace("KEY", &key));
        }
        if self.chance(8) {
            object["metadata"]["uid"] = json!(format!("<uid {key}>"));
        }
        let text = self.text(30, specimen, object);
        let target = with_query(&path, &self.parameters());
        requests.push(self.done(specimen, &name, format!("PUT {target}"), text));
    }

    fn patch(&mut self, specimen: &'static Specimen, verb: &str, patch: Value, odd: u64) -> Request {
        let name = self.name(specimen);
        let path = self.object_path(specimen, &name, 15);
        let text = self.text(odd, specimen, patch);
        let target = with_query(&path, &self.parameters());
        self.done(specimen, &name, format!("{verb} {target}"), text)
    }

    fn merge(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let patch = bodies::merge_patch(&mut self.dice, specimen);
        let request = self.patch(specimen, "MERGE", patch, 20);
        requests.push(request);
    }

    fn json(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let patch = bodies::json_patch(&mut self.dice, specimen);
        let request = self.patch(specimen, "JSON", patch, 0);
        requests.push(request);
    }

    fn strategic(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let patch = bodies::strategic_patch(&mut self.dice, specimen);
        let request = self.patch(specimen, "STRATEGIC", patch, 10);
        requests.push(request);
    }

    fn apply(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let name = self.name(specimen);
        let path = self.object_path(specimen, &name, 10);
        let applied = bodies::applied(&mut self.dice, specimen, &name);
        let text = self.text(15, specimen, applied);
        let mut parameters = Vec::new();
        if !self.is_odd(3, "no manager") {
            parameters.push(format!("fieldManager={}", self.dice.pick(&["m1", "m2"])));
        }
        if self.chance(40) {
            parameters.push("force=true".to_owned());
        }
        if self.is_odd(5, "dry run") {
            parameters.push("dryRun=All".to_owned());
        }
        let target = with_query(&path, &parameters);
        requests.push(self.done(specimen, &name, format!("APPLY {target}"), text));
    }

    fn delete(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let name = self.name(specimen);
        let path = format!("{}/{name}", specimen.path());
        let options = bodies::delete_options(&mut self.dice, &specimen.key(&name));
        let body = if self.chance(60) { options.to_string() } else { String::new() };
        let mut parameters = Vec::new();
        if self.chance(15) {
            parameters
                .push(format!("propagationPolicy={}", self.dice.pick(&["Background", "Foreground", "Orphan", "None"])));
        }
        if self.is_odd(5, "dry run") {
            parameters.push("dryRun=All".to_owned());
        }
        let target = with_query(&path, &parameters);
        requests.push(self.done(specimen, &name, format!("DELETE {target}"), body));
    }

    fn delete_collection(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let mut parameters = self.selectors(specimen);
        if self.is_odd(10, "dry run") {
            parameters.push("dryRun=All".to_owned());
        }
        let target = with_query(&specimen.path(), &parameters);
        requests.push(self.done(specimen, "", format!("DELETE {target}"), String::new()));
    }

    fn scale(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let name = self.name(specimen);
        let path = format!("{}/{name}/scale", specimen.path());
        let replicas = json!({ "spec": { "replicas": self.dice.below(4) } });
        let version = dice_pick(&mut self.dice, &["", "", "<version KEY>", "<older KEY>"]);
        let (verb, body) = match self.dice.below(6) {
            0 | 1 => ("GET", Value::Null),
            2 => ("MERGE", replicas),
            3 => ("JSON", json!([{ "op": "replace", "path": "/spec/replicas", "value": 3 }])),
            _ => {
                let mut scale = replicas;
                scale["metadata"] = json!({ "name": name, "namespace": "{ns}" });
                (scale["apiVersion"], scale["kind"]) = (json!("autoscaling/v1"), json!("Scale"));
                if !version.is_empty() {
                    scale["metadata"]["resourceVersion"] = json!(version.replace("KEY", &specimen.key(&name)));
                }
                ("PUT", scale)
            }
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        requests.push(self.done(specimen, &name, format!("{verb} {path}"), body));
    }

    /// A request that no server takes.
    fn stray(&mut self, specimen: &'static Specimen, requests: &mut Vec<Request>) {
        let (name, path) = (self.name(specimen), specimen.path());
        let object = json!({ "metadata": { "name": name } }).to_string();
        let (request, body) = match self.dice.below(6) {
            0 => (format!("POST {path}/{name}"), object),
            1 => (format!("PUT {path}"), object),
            2 => (format!("BARE {path}/{name}"), object),
            3 => (format!("NONSENSE {path}/{name}"), String::new()),
            4 => (format!("POST {}", path.replace("/namespaces/{ns}", "")), object),
            _ => (format!("GET {path}x"), String::new()),
        };
        self.oddities.push("stray");
        requests.push(self.done(specimen, &name, request, body));
    }

    fn watch(&mut self, specimen: &'static Specimen) -> Request {
        let first = format!("resourceVersion=<first {}>", specimen.key(""));
        let mut parameters = vec!["watch=1".to_owned(), "timeoutSeconds=1".to_owned()];
        let verb = if self.chance(20) { "METADATA" } else { "GET" };
        if specimen.cluster {
            parameters.push("labelSelector=of%3D{ns}".to_owned());
        } else if self.chance(25) {
            parameters.push(format!("labelSelector={}", self.dice.pick(&["app", "app%3Dx", "!app"])));
        }
        if self.is_odd(20, "initial events") {
            let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
            parameters.push(initial.to_owned());
        } else {
            parameters.push(first);
        }
        self.oddities.push("watch");
        let target = with_query(&specimen.path(), &parameters);
        self.done(specimen, "", format!("{verb} {target}"), String::new())
    }
}

const LABELS: [&str; 9] = [
    "app",
    "app%3Dx",
    "!app",
    "app%21%3Dx",
    "app in (x,y)",
    "tier notin (x)",
    "example.com%2Fx%3Dy",
    "app%3D%3D%3Dx",
    "app%3D-",
];
const FIELDS: [&str; 6] = [
    "metadata.name=NAME",
    "metadata.name!=NAME",
    "metadata.namespace={ns}",
    "spec.nosuch=1",
    "metadata.name",
    "metadata.uid=1",
];

fn dice_pick(dice: &mut Dice, from: &[&'static str]) -> &'static str {
    dice.pick(from)
}

/// The list that says which version is the first.
fn first_list(specimen: &'static Specimen) -> Request {
    let selector = if specimen.cluster { "?labelSelector=of%3D{ns}" } else { "" };
    let step = Step { request: format!("GET {}{selector}", specimen.path()), ..Step::default() };
    Request { specimen, name: String::new(), step, oddities: Vec::new() }
}

fn with_query(path: &str, parameters: &[String]) -> String {
    if parameters.is_empty() { path.to_owned() } else { format!("{path}?{}", parameters.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_draws_the_same_requests_and_many_draw_all_kinds_and_verbs() {
        let text = |seed: u64| draw(seed, 200).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
        let requests: Vec<Request> = (0..500).flat_map(|seed| draw(seed, 20)).collect();
        let kinds: BTreeSet<&str> = requests.iter().map(|it| it.specimen.collection.as_str()).collect();
        assert_eq!(kinds.len(), SPECIMENS.len());
        let verbs: BTreeSet<&str> = requests.iter().map(Request::verb).collect();
        let all = [
            "APPLY",
            "BARE",
            "DELETE",
            "GET",
            "JSON",
            "MERGE",
            "METADATA",
            "METADATAS",
            "NONSENSE",
            "POST",
            "PUT",
            "STRATEGIC",
        ];
        assert_eq!(verbs.into_iter().collect::<Vec<_>>(), all);
    }
}
