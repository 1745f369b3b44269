//! The page for people: one document without scripts, images or links to elsewhere.

use super::snapshot::{
    AuditLine, ControllerLine, DifferenceLine, ElectionLine, KeyGroup, KeyLine, Outcome, Snapshot, StreamLine,
};
use core::fmt::{self, Display, Write as _};

const STYLE: &str = include_str!("page.css");

/// How many keys of a state are shown without a click.
const UNFOLDED: usize = 20;

/// A text in which no character means anything to a browser.
struct Escaped<T>(T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);
        impl fmt::Write for Escaping<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                text.chars().try_for_each(|c| match c {
                    '&' => self.0.write_str("&amp;"),
                    '<' => self.0.write_str("&lt;"),
                    '>' => self.0.write_str("&gt;"),
                    '"' => self.0.write_str("&quot;"),
                    '\'' => self.0.write_str("&#39;"),
                    c => self.0.write_char(c),
                })
            }
        }
        write!(Escaping(f), "{}", self.0)
    }
}

/// The page of a snapshot.
pub(super) fn page(snapshot: &Snapshot) -> String {
    let mut page = String::with_capacity(16 * 1024);
    write(&mut page, snapshot).expect("a string takes all text");
    page
}

fn write(page: &mut String, snapshot: &Snapshot) -> fmt::Result {
    let (class, title) = if snapshot.ready { ("good", "ready") } else { ("bad", "not ready") };
    write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>listwatch: {title}</title><style>{STYLE}</style></head>\
         <body><header><h1>listwatch</h1> <span class=\"mark {class}\">{title}</span></header><main>"
    )?;
    if !snapshot.obstacles.is_empty() {
        page.push_str("<ul class=\"obstacles\">");
        snapshot.obstacles.iter().try_for_each(|line| write!(page, "<li>{}</li>", Escaped(line)))?;
        page.push_str("</ul>");
    }
    page.push_str("<h2>Informers</h2>");
    if snapshot.informers.is_empty() {
        page.push_str("<p class=\"none\">None.</p>");
    }
    snapshot.informers.iter().try_for_each(|it| stream(page, it))?;
    page.push_str("<h2>Controllers</h2>");
    if snapshot.controllers.is_empty() {
        page.push_str("<p class=\"none\">None.</p>");
    }
    snapshot.controllers.iter().try_for_each(|it| controller(page, it))?;
    page.push_str(
        "</main><footer><a href=\"?format=json\">JSON</a> <a href=\"/metrics\">metrics</a> <a \
         href=\"/readyz\">readiness</a></footer></body></html>\n",
    );
    Ok(())
}

fn stream(page: &mut String, it: &StreamLine) -> fmt::Result {
    let class = match it.state {
        "synced" => "good",
        "failing" | "stopped" => "bad",
        _ => "busy",
    };
    write!(
        page,
        "<section><h3>{} <span class=\"mark {class}\">{}</span></h3><p>{}</p>",
        Escaped(&it.name),
        Escaped(it.state),
        Escaped(&it.status)
    )?;
    if let Some(failure) = &it.last_failure {
        write!(page, "<p class=\"failure\">Last failure: {}</p>", Escaped(failure))?;
    }
    if let Some(help) = &it.help {
        write!(page, "<p>{}</p>", Escaped(help))?;
    }
    if it.undecodable > 0 || it.panics > 0 {
        write!(page, "<p class=\"failure\">Undecodable objects: {}; panics: {}</p>", it.undecodable, it.panics)?;
    }
    if let Some(held) = it.held_back_seconds {
        write!(page, "<p class=\"failure\">Held back by a subscriber for {held:.1} s</p>")?;
    }
    if let Some(waits_for) = &it.waits_for {
        write!(page, "<p class=\"failure\">Its request waits: {}</p>", Escaped(waits_for))?;
    }
    it.audit.as_ref().map_or(Ok(()), |it| audit(page, it))?;
    page.push_str("</section>");
    Ok(())
}

fn audit(page: &mut String, it: &AuditLine) -> fmt::Result {
    let class = if it.result == "clean" { "" } else { " class=\"failure\"" };
    let AuditLine { result, date, age_seconds, .. } = it;
    write!(page, "<p{class}>Drift audit {age_seconds:.0} s ago ({}): {result}", Escaped(date))?;
    match &it.outcome {
        Outcome::Failed { failure } => write!(page, ": {}", Escaped(failure))?,
        Outcome::Compared(it) => {
            let (objects, version) = (it.objects, Escaped(&it.version));
            write!(page, ", {objects} objects compared at version {version}")?;
            write!(page, ": {} missing, {} extra, {} stale", it.missing, it.extra, it.stale)?;
        }
    }
    it.help.as_ref().map_or(Ok(()), |help| write!(page, "; {}", Escaped(help)))?;
    page.push_str("</p>");
    match &it.outcome {
        Outcome::Compared(it) if !it.differences.is_empty() => differences(page, &it.differences, it.unnamed()),
        _ => Ok(()),
    }
}

fn differences(page: &mut String, lines: &[DifferenceLine], unnamed: usize) -> fmt::Result {
    let open = if lines.len() <= UNFOLDED { " open" } else { "" };
    write!(page, "<details{open}><summary>differences: {}</summary><table>", lines.len() + unnamed)?;
    page.push_str("<thead><tr><th>key</th><th>kind</th><th>server</th><th>store</th></tr></thead><tbody>");
    for DifferenceLine { key, kind, server, store } in lines {
        let (server, store) = (server.as_deref().unwrap_or_default(), store.as_deref().unwrap_or_default());
        let (key, server, store) = (Escaped(key), Escaped(server), Escaped(store));
        write!(page, "<tr><td>{key}</td><td>{kind}</td><td>{server}</td><td>{store}</td></tr>")?;
    }
    end_of_table(page, unnamed)
}

/// The end of a table in a fold, with the number of those that have no row.
fn end_of_table(page: &mut String, more: usize) -> fmt::Result {
    page.push_str("</tbody></table>");
    if more > 0 {
        write!(page, "<p class=\"none\">and {more} more</p>")?;
    }
    page.push_str("</details>");
    Ok(())
}

fn controller(page: &mut String, it: &ControllerLine) -> fmt::Result {
    let class = if it.lifecycle == "running" { "good" } else { "busy" };
    write!(
        page,
        "<section><h3>{} <span class=\"mark {class}\">{}</span></h3><dl class=\"counts\">",
        Escaped(&it.name),
        Escaped(it.lifecycle)
    )?;
    write!(page, "<div><dt>workers</dt><dd>{}</dd></div>", it.workers)?;
    for (result, count) in &it.reconciles {
        write!(page, "<div><dt>{}</dt><dd>{count}</dd></div>", Escaped(words(result)))?;
    }
    page.push_str("</dl>");
    if let Some(it) = &it.election {
        election(page, it)?;
    }
    for it in &it.sources {
        let synced = if it.synced { "synced" } else { "not synced" };
        write!(page, "<p>Source {}: {synced}", Escaped(&it.source))?;
        if it.backlog > 0 {
            write!(page, ", backlog {} for {:.1} s", it.backlog, it.lag_seconds)?;
        }
        page.push_str("</p>");
    }
    if it.keys.values().all(|group| group.count == 0) {
        page.push_str("<p class=\"none\">No keys wait or run.</p>");
    }
    it.keys.iter().filter(|(_, group)| group.count > 0).try_for_each(|(state, group)| keys(page, state, group))?;
    page.push_str("</section>");
    Ok(())
}

fn election(page: &mut String, it: &ElectionLine) -> fmt::Result {
    write!(page, "<p>Lease {}: {} ", Escaped(&it.lease), Escaped(&it.identity))?;
    match &it.leader {
        _ if it.has_ended => page.push_str("is no candidate any more"),
        _ if it.leads => write!(page, "leads for {:.1} s unless it renews", it.remaining_seconds)?,
        Some(leader) => write!(page, "follows {}", Escaped(leader))?,
        None => page.push_str("waits; no leader was seen"),
    }
    page.push_str("</p>");
    Ok(())
}

fn keys(page: &mut String, state: &str, group: &KeyGroup) -> fmt::Result {
    let is_open = matches!(state, "running" | "backingOff" | "parked") && group.count <= UNFOLDED;
    let open = if is_open { " open" } else { "" };
    write!(page, "<details{open}><summary>{}: {}</summary><table>", Escaped(words(state)), group.count)?;
    page.push_str("<thead><tr><th>key</th><th>failures</th><th>since</th><th>until</th></tr></thead><tbody>");
    let seconds = |page: &mut String, seconds: Option<f64>, before: &str, after: &str| match seconds {
        Some(seconds) => write!(page, "<td>{before}{seconds:.1} s{after}</td>"),
        None => write!(page, "<td></td>"),
    };
    for KeyLine { key, failures, since_seconds, in_seconds } in &group.keys {
        write!(page, "<tr><td>{}</td><td>{failures}</td>", Escaped(key))?;
        seconds(page, *since_seconds, "", " ago")?;
        seconds(page, *in_seconds, "in ", "")?;
        page.push_str("</tr>");
    }
    end_of_table(page, group.count.saturating_sub(group.keys.len()))
}

/// A name of the JSON as words.
fn words(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}
