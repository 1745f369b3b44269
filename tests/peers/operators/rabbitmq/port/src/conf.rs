//! The form in which the original's INI library writes `rabbitmq.conf`: one section, and aligned equal signs.

#[derive(Default)]
pub struct Conf(Vec<Entry>);

struct Entry {
    name: String,
    value: String,
    comment: Vec<String>,
}

impl Conf {
    /// Sets a value. A name that is there keeps its place.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.put(name, value.to_string(), Vec::new());
    }

    fn put(&mut self, name: &str, value: String, comment: Vec<String>) {
        match self.0.iter_mut().find(|entry| entry.name == name) {
            Some(entry) => (entry.value, entry.comment) = (value, comment),
            None => self.0.push(Entry { name: name.to_owned(), value, comment }),
        }
    }

    /// Adds the settings of a text. Sections and values of several lines are errors.
    pub fn append(&mut self, text: &str) -> Result<(), String> {
        let mut comment = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with(['#', ';']) {
                comment.push(line.to_owned());
                continue;
            }
            let parts = line.split_once(['=', ':']).filter(|(name, _)| !name.is_empty() && !line.starts_with('['));
            let (name, value) = parts.ok_or_else(|| format!("key-value delimiter not found: {line}"))?;
            let (value, quote) = (value.trim(), value.trim().chars().next());
            let value = match quote {
                Some('`') => value.trim_matches('`'),
                _ => {
                    let (value, rest) = value.find(['#', ';']).map_or((value, ""), |at| value.split_at(at));
                    comment.extend((!rest.is_empty()).then(|| rest.to_owned()));
                    unquoted(value.trim())
                }
            };
            self.put(name.trim(), value.to_owned(), std::mem::take(&mut comment));
        }
        Ok(())
    }

    pub fn has_prefix(&self, prefix: &str) -> bool {
        self.0.iter().any(|entry| entry.name.starts_with(prefix))
    }
}

fn unquoted(value: &str) -> &str {
    let within = |quote| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

impl std::fmt::Display for Conf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.0.iter().map(|entry| entry.name.len()).max().unwrap_or_default();
        for Entry { name, value, comment } in &self.0 {
            for line in comment {
                let (mark, text) = line.split_at(1);
                writeln!(f, "{mark} {}", text.trim())?;
            }
            write!(f, "{name:width$} = ")?;
            match value {
                value if value.contains('`') => writeln!(f, "\"\"\"{value}\"\"\"")?,
                value if value.contains(['#', ';']) => writeln!(f, "`{value}`")?,
                value if value.trim().len() != value.len() => writeln!(f, "\"{value}\"")?,
                value => writeln!(f, "{value}")?,
            }
        }
        Ok(())
    }
}

/// The bytes of a quantity such as `2Gi`; none if it is no number.
pub fn bytes_of(quantity: &str) -> Option<i64> {
    let digits = quantity.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(quantity.len());
    let (number, suffix) = quantity.split_at(digits);
    let power = |base: f64, power: usize| base.powi(power as i32);
    let scale = match suffix {
        "" => 1.0,
        "m" => 0.001,
        "k" => 1000.0,
        _ => match suffix.strip_suffix('i') {
            Some(suffix) => power(1024.0, 1 + "KMGTPE".find(suffix)?),
            None => power(1000.0, 2 + "MGTPE".find(suffix)?),
        },
    };
    Some((number.parse::<f64>().ok()? * scale).ceil() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_aligned_and_keep_their_comments() {
        let mut conf = Conf::default();
        conf.set("a", 1);
        conf.append("# one\nlonger = x ; why\n\na=2\nquoted = 'y z'\n").unwrap();
        assert_eq!(conf.to_string(), "a      = 2\n# one\n; why\nlonger = x\nquoted = y z\n");
        assert!(Conf::default().append("[section]\na=1").is_err());
    }

    #[test]
    fn quantities_are_bytes() {
        assert_eq!(bytes_of("2Gi"), Some(2 << 30));
        assert_eq!(bytes_of("1500M"), Some(1_500_000_000));
        assert_eq!((bytes_of("7"), bytes_of("x")), (Some(7), None));
    }
}
