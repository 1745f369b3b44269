//! No file names what another one defines that names it in turn, however long the way round is.
//!
//! A module and those inside of it are one room. A parent declares its children, calls and re-exports them; a child
//! extends its parent's type (`impl super::Parent`) or uses what lies about in the room. So a way round is no circle if it
//! goes down from a file to its descendants, perhaps from one of those to the next, and up again. Everything else is one:
//! two siblings, though each may reach the other by the parent's re-exports alone, or a child, another room, and back to
//! the parent. That is: without the ways down nothing goes round, and without the ways up neither.
//!
//! A name counts for the file that defines it, not for those that pass it on. What is for tests alone does not count.

use crate::layering::crates::{Crate, Edge};
use crate::root;
use std::fs;
use std::path::Path;

/// The roots of the crates.
const ROOTS: &[&str] = &[
    "core/src/lib.rs",
    "transport-http/src/lib.rs",
    "transport-file/src/lib.rs",
    "transport-file/cluster/src/lib.rs",
    "runtime-smol/src/lib.rs",
    "runtime-smol/cli/src/main.rs",
    "runtime-smol/explore/src/lib.rs",
    "runtime-smol/stand-ins/src/lib.rs",
    "tests/src/lib.rs",
    "tests/bare-metal/src/lib.rs",
];

/// The modules of the package `listwatch` from the bottom up. Each may name those before it.
const RUNTIME: &[&str] = &[
    // What any of them may use.
    "budget",
    "caught",
    "host",
    "mutex",
    "names",
    "reactor",
    "stable_hash",
    "task_group",
    "waiting",
    "witness",
    "attended",
    // Time, tasks and requests.
    "clock",
    "stderr",
    "traced",
    "run",
    "workers",
    "client",
    "definition",
    "calls",
    "served",
    // Lists and watches.
    "replay",
    "saved",
    "events",
    "informers",
    // Controllers, and what operators read of them.
    "recorder",
    "election",
    "shards",
    "controller",
    "metrics",
    "endpoint",
    "prelude",
    "coming_from",
    "guide",
];

/// Circles that are still to be untied, each with its files in order. One that is gone has to go from here too.
const KNOWN: &[&[&str]] = &[];

#[test]
fn no_files_of_a_crate_name_each_other_in_a_circle() {
    let mut found = Vec::new();
    for root in ROOTS {
        let sources = read(root);
        let circles = circles(&sources);
        let files: usize = circles.iter().map(|circle| circle.files.len()).sum();
        println!("{root}: {}, {files} in circles", described(&sources));
        found.extend(circles);
    }
    let wrong = differences(&found, KNOWN);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_module_of_the_runtime_names_only_those_before_it() {
    let found = upward(&read("runtime-smol/src/lib.rs"), RUNTIME);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What a module of a crate names that is not before it in `order`. The root names all of them.
fn upward(sources: &Crate, order: &[&str]) -> Vec<String> {
    let module = |file: usize| sources.files[file].1.first();
    let place = |name: &String| order.iter().position(|known| known == name);
    let unknown = (0..sources.files.len()).filter_map(module).filter(|name| place(name).is_none());
    let mut found: Vec<String> = unknown.map(|name| format!("{name} has no place in the order of modules")).collect();
    for Edge { from, to, line, name } in sources.edges() {
        let (Some(user), Some(used)) = (module(from), module(to)) else { continue };
        if user != used && place(used) >= place(user) {
            found.push(format!("{}:{line} names {name} of {used}, which comes after {user}", sources.files[from].0));
        }
    }
    found.dedup();
    found
}

/// Which circles are not known, and which of the known are gone.
fn differences(found: &[Circle], known: &[&[&str]]) -> Vec<String> {
    let is_known = |circle: &&Circle| known.iter().any(|files| circle.files == *files);
    let is_gone = |files: &&&[&str]| !found.iter().any(|circle| circle.files == **files);
    let new = found.iter().filter(|circle| !is_known(circle)).map(Circle::to_string);
    let gone = known.iter().filter(is_gone).map(|files| format!("untied, but still in KNOWN: {}", files.join(", ")));
    new.chain(gone).collect()
}

/// Files that can be reached from each other.
struct Circle {
    files: Vec<String>,
    /// Who names whom, and where.
    names: Vec<String>,
}

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a circle of {}:\n    {}", self.files.join(", "), self.names.join("\n    "))
    }
}

fn read(root_file: &str) -> Crate {
    Crate::read(root_file, &|path| fs::read_to_string(root().join(path)).ok())
}

/// The circles of a crate, each once.
fn circles(sources: &Crate) -> Vec<Circle> {
    let module = |file: usize| &sources.files[file].1;
    let leads_down = |edge: &Edge| module(edge.to).starts_with(module(edge.from));
    let leads_up = |edge: &Edge| module(edge.from).starts_with(module(edge.to));
    let without = |left_out: &dyn Fn(&Edge) -> bool| {
        let edges: Vec<Edge> = sources.edges().into_iter().filter(|edge| !left_out(edge)).collect();
        let circles = components(sources.files.len(), &edges);
        circles.into_iter().map(|files| circle(sources, &files, &edges)).collect::<Vec<_>>()
    };
    let mut found = without(&leads_up);
    for circle in without(&leads_down) {
        if !found.iter().any(|other| other.files == circle.files) {
            found.push(circle);
        }
    }
    found
}

fn circle(sources: &Crate, files: &[usize], edges: &[Edge]) -> Circle {
    let name = |file: usize| sources.files[file].0.clone();
    let inside = edges.iter().filter(|edge| files.contains(&edge.from) && files.contains(&edge.to));
    let names =
        inside.map(|edge| format!("{}:{} names {} of {}", name(edge.from), edge.line, edge.name, name(edge.to)));
    let mut names: Vec<String> = names.collect();
    names.sort();
    let mut files: Vec<String> = files.iter().map(|&file| name(file)).collect();
    files.sort();
    Circle { files, names }
}

/// The strongly connected components of more than one file.
fn components(count: usize, edges: &[Edge]) -> Vec<Vec<usize>> {
    let reached: Vec<Vec<bool>> = (0..count).map(|start| reached_from(start, count, edges)).collect();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for file in (0..count).filter(|&file| reached[file][file]) {
        if !found.iter().any(|circle| circle.contains(&file)) {
            found.push((0..count).filter(|&other| reached[file][other] && reached[other][file]).collect());
        }
    }
    found
}

/// Where the edges lead from `start`, in one step or more.
fn reached_from(start: usize, count: usize, edges: &[Edge]) -> Vec<bool> {
    let (mut reached, mut open) = (vec![false; count], vec![start]);
    while let Some(at) = open.pop() {
        for edge in edges.iter().filter(|edge| edge.from == at) {
            if !std::mem::replace(&mut reached[edge.to], true) {
                open.push(edge.to);
            }
        }
    }
    reached
}

/// How many files a crate has, and how long they and their functions are.
fn described(sources: &Crate) -> String {
    let files = sources.files.iter().map(|(name, _)| name).zip(&sources.sizes);
    let longest_file = files.clone().max_by_key(|(_, sizes)| sizes.code);
    let (longest_file, code) = longest_file.map_or(("", 0), |(name, sizes)| (name.as_str(), sizes.code));
    let functions = files.flat_map(|(file, sizes)| sizes.functions.iter().map(move |function| (file, function)));
    let mut functions: Vec<_> = functions.collect();
    functions.sort_by_key(|(_, (_, _, lines))| *lines);
    let median = functions.get(functions.len() / 2).map_or(0, |(_, (_, _, lines))| *lines);
    let longest = functions.last().map(|(file, (name, line, lines))| format!("{lines} ({name}, {file}:{line})"));
    format!(
        "{} files, the longest has {code} lines of code ({longest_file}); {} functions, median {median} lines, longest {}",
        sources.files.len(),
        functions.len(),
        longest.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(files: &[(&str, &str)]) -> Crate {
        Crate::read(files[0].0, &|path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| String::from(*text))
        })
    }

    /// The circles of a crate of these files, each as its files' names.
    fn of(files: &[(&str, &str)]) -> Vec<String> {
        circles(&planted(files)).into_iter().map(|circle| circle.files.join(" ")).collect()
    }

    /// A room of a parent and two children, in which `a` says this and `b` that.
    fn room(parent: &str, a: &str, b: &str) -> Vec<String> {
        let parent = format!("mod a; mod b; pub use a::A; use b::B; pub struct Parent; {parent}");
        let a = format!("pub struct A; {a}");
        let b = format!("pub struct B; pub fn f() {{}} {b}");
        of(&[
            ("lib.rs", "mod room; mod other;"),
            ("room/mod.rs", &parent),
            ("room/a.rs", &a),
            ("room/b.rs", &b),
            ("other.rs", ""),
        ])
    }

    const A_AND_B: [&str; 1] = ["room/a.rs room/b.rs"];

    #[test]
    fn siblings_that_name_each_other_are_found() {
        assert_eq!(room("", "use super::b::B;", "use super::a::A;"), A_AND_B);
        assert_eq!(room("", "use crate::room::b::B;", "fn g(_: super::a::A) {}"), A_AND_B);
        assert_eq!(room("", "use super::{b, Parent}; fn g() { b::f() }", "use super::a::*; fn g(_: A) {}"), A_AND_B);
        assert_eq!(room("", "fn g() { super::b::f() }", "mod inner { use super::super::a::A; }"), A_AND_B);
        assert_eq!(room("", "use super::b::B;", ""), [""; 0], "one way only");
        assert_eq!(room("", "use super::b; fn g() { let b = 1; }", "use super::a::A;"), [""; 0], "only the module");
    }

    #[test]
    fn siblings_that_name_each_other_by_what_their_parent_passes_on_are_found() {
        assert_eq!(room("", "use super::B;", "use super::A;"), A_AND_B);
        assert_eq!(room("", "use crate::room::B as Other;", "use super::*; fn g(_: A) {}"), A_AND_B);
        let room = of(&[
            ("lib.rs", "mod a; mod b; pub use b::f as called; pub mod prelude { pub use crate::a::*; }"),
            ("a.rs", "pub struct A; fn g() { crate::called() }"),
            ("b.rs", "use crate::prelude::A; pub fn f() {}"),
        ]);
        assert_eq!(room, ["a.rs b.rs"]);
    }

    #[test]
    fn a_longer_way_round_is_one_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::a::A; use crate::d::D; pub struct C;"),
            ("d.rs", "pub struct D;"),
        ];
        assert_eq!(of(&files), ["a.rs b.rs c.rs"]);
    }

    #[test]
    fn a_room_that_is_split_into_files_is_no_circle() {
        assert_eq!(room("fn g(_: B) { b::f() }", "impl super::Parent {}", "use super::Parent;"), [""; 0]);
        assert_eq!(room("fn g(_: A) {}", "use super::b::B; impl super::Parent {}", "impl super::Parent {}"), [""; 0]);
    }

    #[test]
    fn a_room_and_what_is_outside_of_it_are_a_circle_whichever_file_is_entered() {
        let room = |parent: &str, a: &str, other: &str| {
            let parent = format!("mod a; pub use a::A; pub struct Parent; {parent}");
            let a = format!("pub struct A; {a}");
            let other = format!("pub struct Other; {other}");
            of(&[("lib.rs", "mod room; mod other;"), ("room.rs", &parent), ("room/a.rs", &a), ("other.rs", &other)])
        };
        let uses_other = "use crate::other::Other;";
        assert_eq!(room(uses_other, "", "use crate::room::Parent;"), ["other.rs room.rs"]);
        assert_eq!(room("fn f(_: A) {}", uses_other, "use crate::room::Parent;"), ["other.rs room.rs room/a.rs"]);
        assert_eq!(room(uses_other, "use super::Parent;", "use crate::room::A;"), ["other.rs room.rs room/a.rs"]);
        assert_eq!(room(uses_other, "use super::Parent;", ""), [""; 0]);
    }

    #[test]
    fn what_is_for_tests_alone_is_no_circle() {
        assert_eq!(room("", "use super::b::B;", "#[cfg(test)] mod tests { use crate::room::a::A; }"), [""; 0]);
        assert_eq!(room("", "use super::b::B;", "#[cfg(test)] mod tests;"), [""; 0], "nobody reads its file");
        assert_eq!(room("", "use super::b::B;", "/// [`A`](super::a::A)\npub(in super::a) fn g() {}"), [""; 0]);
    }

    #[test]
    fn another_crates_names_are_not_taken_for_ones_own() {
        assert_eq!(room("", "use super::b::B; use b::b; use c::*;", "use a::A; fn g() { a::A::new() }"), [""; 0]);
    }

    #[test]
    fn a_name_of_a_module_that_comes_later_is_found() {
        let sources = planted(&[
            ("lib.rs", "mod a;\nmod b;\npub use b::B;"),
            ("a.rs", "\nuse crate::B;\npub struct A;"),
            ("b.rs", "use crate::a::A;\npub struct B;"),
        ]);
        assert_eq!(upward(&sources, &["a", "b"]), ["a.rs:2 names B of b, which comes after a"]);
        assert_eq!(upward(&sources, &["b", "a"]).len(), 1, "a of b");
        assert_eq!(upward(&sources, &["a"])[0], "b has no place in the order of modules");
    }

    #[test]
    fn a_circle_says_which_line_names_what_and_one_that_is_known_says_nothing_until_it_is_gone() {
        let found = circles(&planted(&[
            ("lib.rs", "mod a;\nmod b;"),
            ("a.rs", "\nuse crate::b::B;\npub struct A;"),
            ("b.rs", "use crate::a::A;\npub struct B;"),
        ]));
        let text = "a circle of a.rs, b.rs:\n    a.rs:2 names b::B of b.rs\n    b.rs:1 names a::A of a.rs";
        assert_eq!(differences(&found, &[]), [text]);
        assert_eq!(differences(&found, &[&["a.rs", "b.rs"]]), [""; 0]);
        assert_eq!(differences(&[], &[&["a.rs", "b.rs"]]), ["untied, but still in KNOWN: a.rs, b.rs"]);
        assert_eq!(differences(&found, &[&["a.rs", "b.rs", "c.rs"]]).len(), 2);
    }
}
