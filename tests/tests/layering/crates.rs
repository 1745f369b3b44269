//! A crate as a tree of modules: which file defines what a path names, through `use` and re-exports.

use crate::layering::paths::{Mention, mentions};
use crate::layering::sizes::Sizes;
use crate::layering::tokens::{Token, closed, is_word, production};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A crate's sources without what is for tests alone.
pub(crate) struct Crate {
    /// The files, as they are called below the crate's root, and the module that each is.
    pub(crate) files: Vec<(String, Vec<String>)>,
    modules: BTreeMap<Vec<String>, Module>,
    mentions: Vec<(usize, Mention)>,
    /// The words of each file and where they stand, which names that come by `*` are looked for in.
    words: Vec<Vec<(usize, String)>>,
    /// What each file holds, counted in lines.
    pub(crate) sizes: Vec<Sizes>,
}

/// A file names what another one defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) line: usize,
    pub(crate) name: String,
}

#[derive(Default)]
struct Module {
    file: usize,
    items: Vec<String>,
    /// Names that come by `use`: each with its path from the root.
    imports: Vec<(String, Vec<String>)>,
    /// Modules of which everything comes.
    globs: Vec<Vec<String>>,
}

/// A file's place: what it is called, its module, and the folder of the modules that it declares.
struct Place {
    name: PathBuf,
    module: Vec<String>,
    folder: PathBuf,
}

impl Crate {
    /// Reads the crate whose root is the file `root`; `read` gives the text of a file that exists.
    pub(crate) fn read(root: &str, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut found = Self {
            files: Vec::new(),
            modules: BTreeMap::new(),
            mentions: Vec::new(),
            words: Vec::new(),
            sizes: Vec::new(),
        };
        let folder = Path::new(root).parent().map(Path::to_owned).unwrap_or_default();
        found.add(&Place { name: root.into(), module: Vec::new(), folder }, read);
        found.import();
        found
    }

    /// Which file names what of which other one; the first line of each pair.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        for (from, mention) in &self.mentions {
            let Mention { named, .. } = mention;
            let name = named.path.join("::");
            if named.path.last().is_some_and(|last| last == "*") {
                let (_, module) = named.path.split_last().expect("it has a last");
                for (line, word) in &self.words[*from] {
                    for to in self.definitions(&[module, std::slice::from_ref(word)].concat()) {
                        edges.push(Edge { from: *from, to, line: *line, name: format!("{name} ({word})") });
                    }
                }
            }
            for to in self.definitions(&named.path) {
                edges.push(Edge { from: *from, to, line: named.line, name: name.clone() });
            }
        }
        edges.retain(|edge| edge.from != edge.to);
        edges.sort_by_key(|edge| (edge.from, edge.to, edge.line));
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        edges
    }

    fn add(&mut self, place: &Place, read: &dyn Fn(&Path) -> Option<String>) {
        let Some(source) = read(&place.name) else { panic!("there is no {}", place.name.display()) };
        let file = self.files.len();
        self.files.push((place.name.to_string_lossy().into_owned(), place.module.clone()));
        let tokens = production(&source);
        self.mentions.extend(mentions(&place.module, &tokens).into_iter().map(|mention| (file, mention)));
        let words = tokens.iter().filter(|(_, token)| is_word(token));
        self.words.push(words.map(|(line, word)| (*line, String::from(*word))).collect());
        self.sizes.push(Sizes::of(&tokens));
        self.items(&tokens, file, place, read);
    }

    /// Notes the items of a module, and reads the modules that it declares.
    fn items(&mut self, tokens: &[Token<'_>], file: usize, place: &Place, read: &dyn Fn(&Path) -> Option<String>) {
        self.modules.entry(place.module.clone()).or_default().file = file;
        let mut at = 0;
        while at < tokens.len() {
            let Some((kind, name)) = item(&tokens[at..]) else {
                // What stands in a body is nobody else's.
                at = if matches!(tokens[at].1, "{" | "(" | "[") { closed(tokens, at) } else { at + 1 };
                continue;
            };
            at += 1;
            if kind != "mod" {
                let module = self.modules.get_mut(&place.module).expect("it was entered above");
                module.items.push(name.to_owned());
                continue;
            }
            let module: Vec<String> = place.module.iter().cloned().chain([name.to_owned()]).collect();
            let folder = place.folder.join(name);
            if tokens.get(at + 1).is_some_and(|(_, token)| *token == "{") {
                let end = closed(tokens, at + 1);
                let inner = Place { name: place.name.clone(), module, folder };
                self.items(&tokens[at + 2..end - 1], file, &inner, read);
                at = end;
            } else {
                let beside = place.folder.join(format!("{name}.rs"));
                let name = if read(&beside).is_some() { beside } else { folder.join("mod.rs") };
                self.add(&Place { name, module, folder }, read);
            }
        }
    }

    /// Notes what each module has by `use`.
    fn import(&mut self) {
        for (_, Mention { named, inside, alias, is_rooted }) in &self.mentions {
            let Some(alias) = alias else { continue };
            if !is_rooted && !self.begins_here(inside, &named.path[inside.len()..], alias) {
                continue;
            }
            let module = self.modules.entry(inside.clone()).or_default();
            match named.path.split_last() {
                Some((last, all)) if last == "*" => module.globs.push(all.to_vec()),
                _ => module.imports.push((alias.clone(), named.path.clone())),
            }
        }
    }

    /// Whether a path that a `use` in `module` gives the name `alias` begins with a name of that module; if not, it
    /// leads into another crate, as `memchr::memchr` does.
    fn begins_here(&self, module: &[String], path: &[String], alias: &str) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        let here = &self.modules[module];
        let is_child = self.modules.contains_key(&[module, std::slice::from_ref(first)].concat());
        is_child && !rest.is_empty()
            || here.items.contains(first)
            || first != alias
                && self.mentions.iter().any(|(_, use_)| use_.inside == module && use_.alias.as_ref() == Some(first))
    }

    /// The files that define what a path names; none if it names a module, or leads into another crate.
    fn definitions(&self, path: &[String]) -> Vec<usize> {
        let mut found = Vec::new();
        self.resolve(&[], path, &mut Vec::new(), &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Follows `path` from the module `from`; `seen` are the names on the way, which may go round.
    fn resolve(
        &self,
        from: &[String],
        path: &[String],
        seen: &mut Vec<(Vec<String>, Vec<String>)>,
        found: &mut Vec<usize>,
    ) {
        let step = (from.to_vec(), path.to_vec());
        let (Some((first, rest)), Some(module)) = (path.split_first(), self.modules.get(from)) else { return };
        if seen.contains(&step) {
            return;
        }
        seen.push(step);
        let child = [from, std::slice::from_ref(first)].concat();
        if !rest.is_empty() && self.modules.contains_key(&child) {
            self.resolve(&child, rest, seen, found);
            return;
        }
        if module.items.contains(first) {
            found.push(module.file);
            return;
        }
        for (_, target) in module.imports.iter().filter(|(name, _)| name == first) {
            self.resolve(&[], &[target, rest].concat(), seen, found);
        }
        for glob in &module.globs {
            self.resolve(&[], &[glob, path].concat(), seen, found);
        }
    }
}

/// The kind and the name of the item whose name is the second token.
fn item<'a>(tokens: &[Token<'a>]) -> Option<(&'a str, &'a str)> {
    let words: Vec<&str> = tokens.iter().take(3).map(|(_, token)| *token).collect();
    match *words.as_slice() {
        ["const", "fn" | "unsafe" | "extern" | "_", ..] => None,
        ["static", "mut", name] | ["macro_rules", "!", name] => Some(("item", name)),
        [kind @ ("fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" | "mod"), name, ..]
            if is_word(name) =>
        {
            Some((kind, name))
        }
        _ => None,
    }
}
