//! Unified diffs of one file, as far as `git diff` writes them.

/// A head, and the changes of a file.
pub(super) struct Patch {
    pub(super) head: Vec<String>,
    pub(super) path: String,
    hunks: Vec<Hunk>,
}

/// Lines that follow each other, before and after the change.
#[derive(Default)]
struct Hunk {
    before: Vec<String>,
    after: Vec<String>,
    /// How many of each its first line announces.
    counts: (usize, usize),
}

impl Patch {
    /// Reads a patch of one file.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let head = lines.by_ref().take_while(|line| !line.starts_with("diff --git "));
        let head = head.filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let mut path_after = |sign| lines.next().and_then(|line| line.strip_prefix(sign)).ok_or("no name of the file");
        let (path, new_path) = (path_after("--- a/")?, path_after("+++ b/")?);
        if path != new_path {
            return Err(format!("{path} becomes {new_path}"));
        }
        let mut hunks: Vec<Hunk> = Vec::new();
        for line in lines {
            if line.starts_with("@@ ") {
                hunks.push(Hunk::begin(line)?);
                continue;
            }
            let hunk = hunks.last_mut().ok_or("a line before the first hunk")?;
            hunk.push(line)?;
        }
        match hunks.iter().find(|hunk| (hunk.before.len(), hunk.after.len()) != hunk.counts) {
            Some(hunk) => Err(format!("a hunk has not the {:?} lines that it announces", hunk.counts)),
            None => Ok(Self { head, path: path.to_owned(), hunks }),
        }
    }

    /// The file after the change. Each hunk has to be found once, after the one before it.
    pub(super) fn apply(&self, file: &str) -> Result<String, String> {
        let lines: Vec<&str> = file.lines().collect();
        let (mut applied, mut done) = (Vec::new(), 0);
        for hunk in &self.hunks {
            let [at] = hunk.places(&lines)[..] else {
                return Err(format!("not found once:\n{}", hunk.before.join("\n")));
            };
            let kept = lines.get(done..at).ok_or("the hunks are not in order")?;
            applied.extend_from_slice(kept);
            applied.extend(hunk.after.iter().map(String::as_str));
            done = at + hunk.before.len();
        }
        applied.extend_from_slice(&lines[done..]);
        Ok(applied.join("\n") + "\n")
    }
}

impl Hunk {
    /// From a line such as `@@ -1,7 +1,6 @@`. A count that is left out is one.
    fn begin(line: &str) -> Result<Self, String> {
        let count = |range: &str| match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        };
        let mut ranges = line.split(' ').skip(1).map(count);
        match (ranges.next().flatten(), ranges.next().flatten()) {
            (Some(before @ 1..), Some(after)) => Ok(Self { counts: (before, after), ..Self::default() }),
            _ => Err(format!("no hunk begins so: {line}")),
        }
    }

    fn push(&mut self, line: &str) -> Result<(), String> {
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let (is_before, is_after) = match sign {
            " " => (true, true),
            "-" => (true, false),
            "+" => (false, true),
            _ => return Err(format!("neither kept, removed nor added: {line}")),
        };
        self.before.extend(is_before.then(|| text.to_owned()));
        self.after.extend(is_after.then(|| text.to_owned()));
        Ok(())
    }

    /// Where the lines before the change are.
    fn places(&self, lines: &[&str]) -> Vec<usize> {
        let windows = lines.windows(self.before.len()).enumerate();
        windows.filter(|(_, window)| *window == self.before).map(|(place, _)| place).collect()
    }
}
