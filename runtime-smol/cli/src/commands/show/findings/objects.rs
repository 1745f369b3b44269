//! Objects that change without end, go back and forth, or are written in vain.

use super::super::entry::{Entry, Reconcile};
use super::authors::{Author, Authors};
use super::finding::{Group, Kind, Span};
use crate::output::changes::{FieldChange, Held};
use crate::report::changed::within;
use listwatch::text::Counted;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The most objects that are counted one by one.
const MOST: usize = 50_000;
/// The most fields of an object, and the most authors.
const FIELDS: usize = 12;
const AUTHORS: usize = 8;
/// So many times two writers undo each other in a fight.
const FIGHT: u64 = 3;
/// So many times a writer undoes itself in a loop, which are a fourth of its changes at least.
const BACK: u64 = 4;
/// So many changes of the same fields by one writer are a loop, if one comes in each interval.
const ENDLESS: u64 = 20;
const INTERVAL: Duration = Duration::from_secs(10);
/// So many writes that change nothing are a loop.
const VAIN: u64 = 15;
/// So many conflicts of an object are worth a word.
const CONFLICTS: u64 = 3;
/// A record of leaders, which is renewed all the time.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

#[derive(Default)]
pub(super) struct Objects {
    objects: HashMap<(String, String), Touched>,
    /// The objects of the versions that reconciles wrote.
    written: HashMap<String, (String, String)>,
    /// What was not counted, because there are too many objects.
    pub(super) uncounted: u64,
}

#[derive(Default)]
struct Touched {
    changes: Times,
    /// The changes of no field that is told.
    idle: Times,
    vain: Times,
    conflicts: Times,
    fields: Vec<Field>,
    /// How many changes were not of the status alone.
    elsewhere: u64,
    /// How many reconciles of the program were caused by its own writes.
    woken: u64,
}

/// How often, when and by whom.
#[derive(Default)]
struct Times {
    count: u64,
    span: Option<Span>,
    by: Vec<(Author, u64)>,
}

struct Field {
    path: Box<str>,
    /// Hashes of the value before the last change, and behind it.
    last: [u64; 2],
    author: Author,
    changes: u64,
    /// How often a writer took back its own change, and another's.
    returns: u64,
    undone: u64,
    pair: [Author; 2],
    span: Span,
    example: Option<String>,
}

impl Objects {
    /// Takes a change of an object.
    pub(super) fn change(&mut self, entry: &Entry, author: Author) {
        if !matches!(&*entry.event, "MODIFIED" | "RELISTED") {
            let known = name(entry).and_then(|name| self.objects.get_mut(&name));
            return known.into_iter().for_each(|touched| touched.fields.clear());
        }
        let Some(touched) = self.of(entry) else { return };
        let is_idle = entry.changes.is_empty() && entry.more_changes == 0;
        if is_idle && entry.message.as_deref().is_some_and(|message| message.starts_with("the state before")) {
            return;
        }
        touched.changes.note(entry, author);
        if is_idle {
            touched.idle.note(entry, author);
        }
        let is_elsewhere = entry.more_changes > 0 || entry.changes.iter().any(|it| !it.field.starts_with("status"));
        touched.elsewhere += u64::from(is_elsewhere);
        entry.changes.iter().for_each(|change| touched.field(change, entry, author));
    }

    /// Takes a write of an object.
    pub(super) fn write(&mut self, entry: &Entry, author: Author) {
        if let (Some(version), Some(name), Some(_)) = (&entry.version, name(entry), entry.by.reconcile)
            && let Some(written) = within(&mut self.written, version.clone(), MOST)
        {
            *written = name;
        }
        let is_conflict = entry.status == Some(409) && entry.event != "POST";
        let is_vain = !entry.failed
            && matches!(&*entry.event, "PUT" | "PATCH")
            && entry.changes.is_empty()
            && entry.more_changes == 0
            && entry.answered.is_empty();
        if !is_conflict && !is_vain {
            return;
        }
        let Some(touched) = self.of(entry) else { return };
        let times = if is_conflict { &mut touched.conflicts } else { &mut touched.vain };
        times.note(entry, author);
    }

    fn of(&mut self, entry: &Entry) -> Option<&mut Touched> {
        let touched = within(&mut self.objects, name(entry)?, MOST);
        self.uncounted += u64::from(touched.is_none());
        touched
    }

    /// Takes a reconcile. The program has woken itself if it wrote all states that are its causes.
    pub(super) fn reconciled(&mut self, own: &Reconcile) {
        let written = |cause: &String| self.written.get(cause.split(" at version ").nth(1)?.split(' ').next()?);
        let written: Option<Vec<_>> = own.causes.iter().map(written).collect();
        // The causes of a retry count once.
        if own.attempt == 1
            && let Some(name) = written.and_then(|names| names.first().copied())
            && let Some(touched) = self.objects.get_mut(name)
        {
            touched.woken += 1;
        }
    }

    pub(super) fn groups(&self, authors: &Authors, end: Duration) -> Vec<Group> {
        self.objects.iter().flat_map(|(object, touched)| touched.groups(object, authors, end)).collect()
    }
}

impl Times {
    fn note(&mut self, entry: &Entry, author: Author) {
        self.count += 1;
        self.span.get_or_insert_with(|| Span::at(entry.at)).note(entry);
        if let Some((_, count)) = self.by.iter_mut().find(|(known, _)| *known == author) {
            *count += 1;
        } else if self.by.len() < AUTHORS {
            self.by.push((author, 1));
        }
    }

    /// The names of the authors, the most frequent first.
    fn names(&self, authors: &Authors) -> Vec<String> {
        let mut by: Vec<_> = self.by.iter().collect();
        by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        by.into_iter().map(|(author, _)| authors.name(*author).to_owned()).collect()
    }

    /// Whether it comes at least once in each interval, by one author.
    fn is_endless(&self) -> bool {
        let length = self.span.map_or(Duration::ZERO, |span| span.until.saturating_sub(span.from));
        let most = self.by.iter().map(|(_, count)| *count).max().unwrap_or_default();
        let intervals = u32::try_from(self.count).unwrap_or(u32::MAX);
        self.count >= ENDLESS && most * 10 >= self.count * 9 && length <= INTERVAL.saturating_mul(intervals)
    }
}

impl Touched {
    fn field(&mut self, change: &FieldChange, entry: &Entry, author: Author) {
        let [old, new] = change.held();
        if old == Held::Something || new == Held::Something {
            return;
        }
        let last = [hash(&old), hash(&new)];
        let Some(field) = self.fields.iter_mut().find(|field| *field.path == *change.field) else {
            if self.fields.len() < FIELDS {
                let (path, span) = (change.field.as_str().into(), Span::at(entry.at));
                let (returns, undone, pair, example) = Default::default();
                self.fields.push(Field { path, last, author, changes: 1, returns, undone, pair, span, example });
            }
            return;
        };
        field.changes += 1;
        if field.last == [last[1], last[0]] {
            field.take_back(change, entry, author);
        }
        (field.last, field.author) = (last, author);
    }

    fn groups(&self, object: &(String, String), authors: &Authors, end: Duration) -> Vec<Group> {
        let group = |kind, what: &str, times: &Times| Group {
            kind,
            resource: object.0.clone(),
            key: Some(object.1.clone()),
            what: what.to_owned(),
            fields: Vec::new(),
            culprits: times.names(authors),
            notes: Vec::new(),
            count: times.count,
            span: times.span.unwrap_or_else(|| Span::at(end)),
            alike: what.to_owned(),
            parts: "changes writes",
        };
        let mut groups = self.fights(object, authors);
        let fought = groups.iter().any(|group| group.kind == Kind::Fight);
        let back: Vec<&Field> = self.fields.iter().filter(|field| field.is_loop()).collect();
        if let Some(most) = back.iter().map(|field| field.returns).max() {
            let fields = back.iter().map(|field| field.told()).collect();
            let (what, alike) = ("goes back to an earlier state again and again", paths(&back));
            groups.push(Group { fields, alike, count: most, ..group(Kind::Loop, what, &self.changes) });
        } else if !fought && self.changes.is_endless() {
            let same = self.fields.iter().filter(|field| field.changes * 10 >= self.changes.count * 8);
            let same: Vec<&Field> = same.collect();
            let fields: Vec<String> = same.iter().map(|field| field.path.to_string()).collect();
            let is_leader = fields.iter().any(|field| field.contains(LEADER));
            if !is_leader && (!fields.is_empty() || self.idle.count * 2 > self.changes.count) {
                let (what, alike) = ("is changed again and again", paths(&same));
                groups.push(Group { fields, alike, ..group(Kind::Loop, what, &self.changes) });
            }
        }
        if self.vain.count >= VAIN {
            groups.push(group(Kind::Loop, "is written again and again, and nothing changes", &self.vain));
        }
        for group in groups.iter_mut().filter(|group| group.kind == Kind::Loop) {
            group.notes.extend(self.pace(group.span));
        }
        if self.conflicts.count >= CONFLICTS {
            let conflicts = group(Kind::Conflicts, "was changed by another between read and write", &self.conflicts);
            let others = self.changes.names(authors).into_iter().filter(|name| !conflicts.culprits.contains(name));
            let notes = others.map(|name| format!("it was changed by {name}")).collect();
            groups.push(Group { notes, ..conflicts });
        }
        groups
    }

    /// How often it happens, what stays as it is, and what keeps it going.
    fn pace(&self, span: Span) -> Vec<String> {
        let stays = self.elsewhere == 0 && self.changes.count > self.idle.count;
        let stays = stays.then(|| "the status alone changes: the spec and its generation stay".to_owned());
        let reconciles = Counted(self.woken, "reconcile", "reconciles");
        let woken = || format!("the program wakes itself: its own writes of it caused {reconciles}");
        let woken = (self.woken > 0).then(woken);
        span.rate().into_iter().chain(stays).chain(woken).collect()
    }

    /// What writers undid of each other, by the two of them.
    fn fights(&self, object: &(String, String), authors: &Authors) -> Vec<Group> {
        let mut pairs: BTreeMap<[Author; 2], Vec<&Field>> = BTreeMap::new();
        for field in self.fields.iter().filter(|field| field.undone > 0) {
            let mut pair = field.pair;
            if field.undone >= FIGHT {
                pair.sort();
            }
            pairs.entry(pair).or_default().push(field);
        }
        let group = |(pair, fields): ([Author; 2], Vec<&Field>)| {
            let count = fields.iter().map(|field| field.undone).max()?;
            let span = fields.iter().map(|field| field.span).reduce(Span::and)?;
            let is_fight = count >= FIGHT;
            let [set, undid] = pair.map(|author| authors.name(author).to_owned());
            let what = match is_fight {
                true => String::new(),
                false => format!("what {set} set was taken back by {undid}"),
            };
            let kind = if is_fight { Kind::Fight } else { Kind::Undone };
            let (alike, fields) = (paths(&fields), fields.iter().map(|field| field.told()).collect());
            let (resource, key) = (object.0.clone(), Some(object.1.clone()));
            let (culprits, notes, parts) = (vec![set, undid], Vec::new(), "changes writes");
            Some(Group { kind, resource, key, what, fields, culprits, notes, count, span, alike, parts })
        };
        pairs.into_iter().filter_map(group).collect()
    }
}

impl Field {
    /// A change takes the one before it back.
    fn take_back(&mut self, change: &FieldChange, entry: &Entry, author: Author) {
        if self.undone + self.returns == 0 {
            self.span = Span::at(entry.at);
        }
        self.span.note(entry);
        match author.is_some() && self.author.is_some() && author != self.author {
            true => (self.undone, self.pair) = (self.undone + 1, [self.author, author]),
            false => self.returns += 1,
        }
        self.example.get_or_insert_with(|| change.to_string());
    }

    fn is_loop(&self) -> bool {
        self.returns >= BACK && self.returns * 4 >= self.changes
    }

    fn told(&self) -> String {
        self.example.clone().unwrap_or_else(|| self.path.to_string())
    }
}

/// The object of an entry, also of one of its parts.
pub(super) fn name(entry: &Entry) -> Option<(String, String)> {
    let resource = entry.resource.as_ref()?.split('/').next().unwrap_or_default();
    Some((resource.to_owned(), entry.key.clone()?))
}

fn paths(fields: &[&Field]) -> String {
    fields.iter().map(|field| &*field.path).collect::<Vec<_>>().join(",")
}

fn hash(held: &Held) -> u64 {
    let mut hasher = DefaultHasher::new();
    held.hash(&mut hasher);
    hasher.finish()
}
