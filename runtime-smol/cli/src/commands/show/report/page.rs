//! The page: HTML without a script, in light and dark, which loads nothing.

use super::super::findings::Finding;
use super::super::summary::Summary;
use super::plots;
use super::tally::{Mark, Object, Slow, Stream, Tally, Touched};
use listwatch::text::Printable;
use listwatch::time::WallTime;
use std::fmt::{self, Display, Write};
use std::time::Duration;

/// The rows of a table.
const ROWS: usize = 40;
/// The characters of a cell.
const CELL: usize = 240;
/// The columns of a lane.
const LANE: f64 = 960.0;
/// The lanes of streams.
const STREAMS: usize = 60;
/// The lanes of objects.
const LANES: usize = 100;

/// How each page begins.
pub(super) const HEAD: &str = "<!DOCTYPE html>";
const STYLE: &str = include_str!("style.css");

/// The page of a recording.
pub(super) struct Page<'p> {
    pub(super) file: &'p str,
    pub(super) began: Option<WallTime>,
    pub(super) tally: &'p Tally,
    pub(super) summary: &'p Summary<'p>,
    /// What was left out, and what cuts the recording.
    pub(super) notes: &'p [String],
}

/// A text of the recording within HTML.
struct Text<T>(T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in Printable::new(&self.0).at_most(CELL).to_string().chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                character => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = Text(self.file);
        write!(
            f,
            "{HEAD}<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
             <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body><h1>{title}</h1>"
        )?;
        self.head(f)?;
        self.findings(f)?;
        self.plots(f)?;
        self.troubles(f)?;
        self.gaps(f)?;
        self.writers(f)?;
        self.reconciles(f)?;
        self.streams(f)?;
        self.lanes(f)?;
        f.write_str("</body></html>\n")
    }
}

impl Page<'_> {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { totals, last, .. } = self.tally;
        let span = match self.began {
            Some(began) => format!("{began} to {}", began + *last),
            None => format!("{:.1} s", last.as_secs_f64()),
        };
        write!(f, "<p class=\"span\">{}</p><dl>", Text(span))?;
        let counts = [
            ("changes", totals.changes),
            ("writes", totals.writes),
            ("failures", totals.failures),
            ("conflicts", totals.conflicts),
            ("reconciles", totals.reconciles),
            ("retries", totals.retries),
            ("lists", totals.lists),
            ("gaps", self.tally.gaps.len() as u64),
        ];
        for (name, count) in counts {
            write!(f, "<div><dt>{name}</dt><dd>{count}</dd></div>")?;
        }
        f.write_str("</dl>")?;
        for note in self.notes {
            write!(f, "<p class=\"bad\">{}</p>", Text(note))?;
        }
        if totals.uncounted > 0 {
            write!(f, "<p class=\"bad\">{} more were not counted one by one</p>", totals.uncounted)?;
        }
        Ok(())
    }

    /// What an operator has to know first.
    fn findings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings = &self.summary.told.findings;
        section(f, "Findings", "the most important first", findings.is_empty())?;
        findings.iter().try_for_each(|finding| self.finding(f, finding))
    }

    fn finding(&self, f: &mut fmt::Formatter<'_>, finding: &Finding) -> fmt::Result {
        let (title, when) = (finding.title(), self.summary.when(finding));
        write!(f, "<details open><summary>{}, {}</summary><ul>", Text(title), Text(when))?;
        let texts = [("field", &finding.fields), ("by", &finding.culprits), ("", &finding.notes)];
        for (name, texts) in texts {
            texts.iter().try_for_each(|text| write!(f, "<li>{name} {}</li>", Text(text)))?;
        }
        write!(f, "<li><code>{}</code></li></ul></details>", Text(self.summary.look(finding)))
    }

    fn plots(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<h2>Over time</h2>")?;
        let length = self.tally.series.length();
        for (title, lines) in plots::plots(&self.tally.series) {
            write!(f, "<figure><figcaption>{title}, in each {:.3} s", length.as_secs_f64())?;
            for (name, color, _) in &lines {
                write!(f, " <b style=\"color:rgb({},{},{})\">{name}</b>", color.0, color.1, color.2)?;
            }
            write!(f, "</figcaption>{}</figure>", plots::draw(&lines, length).unwrap_or_default())?;
        }
        Ok(())
    }

    /// A lane for each object that stands out.
    fn lanes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lanes: Vec<(&Object, &Touched)> = self.tally.objects.iter().collect();
        lanes.sort_unstable_by(|a, b| b.1.weight().cmp(&a.1.weight()).then_with(|| a.0.cmp(b.0)));
        section(
            f,
            "Objects",
            "the most changed and the most refused; each opens what happened to it",
            lanes.is_empty(),
        )?;
        for ((resource, key), touched) in lanes.iter().take(LANES) {
            write!(
                f,
                "<details class=\"lane\"><summary><span>{} {}</span> {}",
                Text(resource),
                Text(key),
                Sum(touched)
            )?;
            write!(f, "<svg viewBox=\"0 0 {LANE} 14\" preserveAspectRatio=\"none\">")?;
            for (at, mark) in &touched.marks {
                write!(
                    f,
                    "<rect x=\"{:.1}\" y=\"1\" width=\"2\" height=\"12\" class=\"{}\"/>",
                    self.place(*at),
                    mark.name()
                )?;
            }
            f.write_str("</svg></summary><table>")?;
            for (at, mark, told) in &touched.story {
                let name = mark.name();
                write!(
                    f,
                    "<tr><td>{}</td><td class=\"{name}\">{name}</td><td>{}</td></tr>",
                    Text(self.date(*at)),
                    Text(told)
                )?;
            }
            f.write_str("</table>")?;
            let more = (touched.changes + touched.writes).saturating_sub(touched.story.len() as u64);
            if more > 0 {
                write!(f, "<p class=\"what\">and {more} more; `listwatch show` has them all</p>")?;
            }
            f.write_str("</details>")?;
        }
        match lanes.len().saturating_sub(LANES) {
            0 => Ok(()),
            more => write!(f, "<p class=\"what\">and {more} more objects</p>"),
        }
    }

    fn streams(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut targets: Vec<(&str, Vec<&Stream>)> = Vec::new();
        for stream in &self.tally.streams {
            let has_room = targets.len() < STREAMS;
            match targets.iter_mut().find(|(target, _)| *target == stream.target) {
                Some((_, streams)) => streams.push(stream),
                None if has_room => targets.push((&stream.target, vec![stream])),
                None => {}
            }
        }
        section(f, "Streams", "lists and watches, from the request to the end", targets.is_empty())?;
        for (target, streams) in targets {
            let failed = streams.iter().filter(|it| it.failure.is_some()).count();
            let (watches, all) = (streams.iter().filter(|it| it.is_watch).count(), streams.len());
            write!(
                f,
                "<details class=\"lane\"><summary><span>{}</span> {} lists, {watches} watches",
                Text(target),
                all - watches
            )?;
            if failed > 0 {
                write!(f, ", <b class=\"bad\">{failed} failed</b>")?;
            }
            write!(f, "<svg viewBox=\"0 0 {LANE} 14\" preserveAspectRatio=\"none\">")?;
            for it in streams.iter().take(400) {
                let class = if it.failure.is_some() {
                    "failed"
                } else if it.is_watch {
                    "watch"
                } else {
                    "list"
                };
                let (from, until) = (self.place(it.from), self.place(it.until));
                write!(
                    f,
                    "<rect x=\"{from:.1}\" y=\"3\" width=\"{:.1}\" height=\"8\" class=\"{class}\"/>",
                    (until - from).max(1.0)
                )?;
            }
            f.write_str("</svg></summary><table>")?;
            for it in streams.iter().take(ROWS) {
                let (kind, why) =
                    (if it.is_watch { "watch" } else { "list" }, it.failure.as_deref().unwrap_or_default());
                write!(
                    f,
                    "<tr><td>{}</td><td>{kind}</td><td>{:.3} s</td><td class=\"bad\">{}</td></tr>",
                    Text(self.date(it.from)),
                    (it.until.saturating_sub(it.from)).as_secs_f64(),
                    Text(why)
                )?;
            }
            f.write_str("</table></details>")?;
        }
        Ok(())
    }

    /// The objects that are written in vain.
    fn troubles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut loops: Vec<_> = self.tally.objects.iter().filter(|(_, it)| it.is_loop()).collect();
        loops.sort_by(|a, b| (b.1.returns, b.1.idle).cmp(&(a.1.returns, a.1.idle)).then_with(|| a.0.cmp(b.0)));
        section(
            f,
            "Loops",
            "objects that go back to an earlier state, or are written without a change",
            loops.is_empty(),
        )?;
        table(f, [&["object"], &["changes", "back", "unchanged", "writes"]], loops.len(), |f, row| {
            let ((collection, key), it) = loops[row];
            write!(f, "<td>{} {}</td>", Text(collection), Text(key))?;
            numbers(f, &[it.changes, it.returns, it.idle, it.writes])
        })?;
        let mut conflicts: Vec<_> = self.tally.objects.iter().filter(|(_, it)| it.conflicts > 0).collect();
        conflicts.sort_by(|a, b| b.1.conflicts.cmp(&a.1.conflicts).then_with(|| a.0.cmp(b.0)));
        section(f, "Conflicts", "writes that were answered by 409", conflicts.is_empty())?;
        table(f, [&["object"], &["conflicts", "writes"]], conflicts.len(), |f, row| {
            let ((collection, key), it) = conflicts[row];
            write!(f, "<td>{} {}</td>", Text(collection), Text(key))?;
            numbers(f, &[it.conflicts, it.writes])
        })
    }

    fn writers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writers: Vec<_> = self.tally.writers.iter().collect();
        writers.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(b.0)));
        section(f, "Writers", "each with its verbs, by resource", writers.is_empty())?;
        table(f, [&["writer", "verb", "resource"], &["writes", "refused"]], writers.len(), |f, row| {
            let ([writer, verb, collection], written) = writers[row];
            write!(f, "<td>{}</td><td>{}</td><td>{}</td>", Text(writer), Text(verb), Text(collection))?;
            numbers(f, &[written.count, written.refused])
        })
    }

    fn reconciles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys: Vec<_> = self.tally.keys.iter().collect();
        keys.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(b.0)));
        section(f, "Hot keys", "", keys.is_empty())?;
        table(f, [&["controller", "key"], &["seconds", "reconciles", "failed"]], keys.len(), |f, row| {
            let ([of, key], it) = keys[row];
            write!(f, "<td>{}</td><td>{}</td><td class=\"n\">{:.3}</td>", Text(of), Text(key), it.time.as_secs_f64())?;
            numbers(f, &[it.count, it.failed])
        })?;
        section(f, "Slow reconciles", "", self.tally.slow.is_empty())?;
        for Slow { at, took, title, lines } in self.tally.slow.iter().take(ROWS) {
            let (date, seconds) = (Text(self.date(*at)), took.as_secs_f64());
            write!(f, "<details><summary>{date} {seconds:.3} s: {}</summary><ul>", Text(title))?;
            lines.iter().try_for_each(|line| write!(f, "<li>{}</li>", Text(line)))?;
            f.write_str("</ul></details>")?;
        }
        Ok(())
    }

    fn gaps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("Gaps", "changes between are unknown, and so is their order", &self.tally.gaps),
            ("Leases", "where a lease was taken, lost or given back", &self.tally.leases),
        ];
        for (title, what, rows) in all {
            section(f, title, what, rows.is_empty())?;
            table(f, [&["date", ""], &[]], rows.len(), |f, row| {
                write!(f, "<td>{}</td><td>{}</td>", Text(self.date(rows[row].0)), Text(&rows[row].1))
            })?;
        }
        Ok(())
    }

    /// The column of a lane at a time.
    fn place(&self, at: Duration) -> f64 {
        LANE * at.as_secs_f64() / self.tally.last.as_secs_f64().max(0.001)
    }

    fn date(&self, at: Duration) -> String {
        match self.began {
            Some(began) => (began + at).to_string(),
            None => format!("{:.3} s", at.as_secs_f64()),
        }
    }
}

/// The heading of a section; nothing if it has nothing.
fn section(f: &mut fmt::Formatter<'_>, title: &str, what: &str, is_empty: bool) -> fmt::Result {
    if is_empty { Ok(()) } else { write!(f, "<h2>{title}</h2><p class=\"what\">{what}</p>") }
}

/// A table of the first rows; the others are counted. The columns of texts come first, those of numbers last.
fn table(
    f: &mut fmt::Formatter<'_>,
    [texts, numbers]: [&[&str]; 2],
    rows: usize,
    row: impl Fn(&mut fmt::Formatter<'_>, usize) -> fmt::Result,
) -> fmt::Result {
    if rows == 0 {
        return Ok(());
    }
    f.write_str("<table><tr>")?;
    texts.iter().try_for_each(|column| write!(f, "<th>{column}</th>"))?;
    numbers.iter().try_for_each(|column| write!(f, "<th class=\"n\">{column}</th>"))?;
    f.write_str("</tr>")?;
    for place in 0..rows.min(ROWS) {
        f.write_str("<tr>")?;
        row(f, place)?;
        f.write_str("</tr>")?;
    }
    f.write_str("</table>")?;
    if rows > ROWS { write!(f, "<p class=\"what\">and {} more</p>", rows - ROWS) } else { Ok(()) }
}

fn numbers(f: &mut fmt::Formatter<'_>, numbers: &[u64]) -> fmt::Result {
    numbers.iter().try_for_each(|number| write!(f, "<td class=\"n\">{number}</td>"))
}

/// The counts of an object.
struct Sum<'t>(&'t Touched);

impl Display for Sum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Touched { changes, writes, failures, .. } = self.0;
        write!(f, "{changes} changes, {writes} writes")?;
        if *failures > 0 { write!(f, ", <b class=\"bad\">{failures} failed</b>") } else { Ok(()) }
    }
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Written => "written",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_recording_is_no_markup() {
        let text = Text("</td><script>alert(1)</script> \" ' & \u{1b}[2J").to_string();
        assert!(!text.contains(['<', '>', '"', '\'', '\u{1b}']), "{text}");
    }
}
