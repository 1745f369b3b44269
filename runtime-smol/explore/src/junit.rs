//! The results of explorations as JUnit XML, for CI.

use crate::explored::Explored;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io, thread};

/// The variable that names a folder for the results.
pub(crate) const FOLDER: &str = "LISTWATCH_JUNIT";

/// How many explorations each thread has made.
static MADE: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// Writes a result into the folder that the environment names, if it does. The file has the name of the test, which is that
/// of its thread, and a number from the second exploration of the test on.
pub(crate) fn write(found: Result<&Explored, &Failure>) -> io::Result<()> {
    let Some(folder) = env::var_os(FOLDER) else { return Ok(()) };
    let (thread, mut made) = (thread::current(), MADE.lock().unwrap_or_else(PoisonError::into_inner));
    let test = thread.name().unwrap_or("exploration");
    let nth = made.entry(test.to_owned()).and_modify(|nth| *nth += 1).or_insert(1);
    let name = if *nth > 1 { format!("{test}-{nth}") } else { test.to_owned() };
    fs::create_dir_all(&folder)?;
    fs::write(Path::new(&folder).join(format!("{}.xml", name.replace("::", "."))), xml(&name, found))
}

fn xml(name: &str, found: Result<&Explored, &Failure>) -> String {
    let (class, test) = name.rsplit_once("::").unwrap_or(("exploration", name));
    let (failures, result) = match found {
        Ok(explored) => (0, format!("<system-out>{}</system-out>", escaped(&explored.to_string()))),
        Err(failure) => {
            let message = escaped(&failure.fault.to_string());
            (1, format!("<failure message=\"{message}\">{}</failure>", escaped(&failure.to_string())))
        }
    };
    let (class, test) = (escaped(class), escaped(test));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites><testsuite name=\"listwatch-explore\" tests=\"1\" failures=\"{failures}\">\n\
         <testcase classname=\"{class}\" name=\"{test}\">{result}</testcase>\n\
         </testsuite></testsuites>\n"
    )
}

/// A text as XML takes it, which has no other control characters than these.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::plan::Plan;
    use crate::story::Story;

    #[test]
    fn a_result_is_one_test_case_whose_text_is_escaped() {
        let fault = Fault::Required("1 < 2 & \"x\"\u{7}".to_owned());
        let failure = Failure::of(fault, Plan::default(), &Story::default(), 1);
        let text = xml("shop::a_cart-2", Err(&failure));
        let case = "tests=\"1\" failures=\"1\">\n<testcase classname=\"shop\" name=\"a_cart-2\"><failure message=";
        assert!(text.contains(&format!("{case}\"1 &lt; 2 &amp; &quot;x&quot;\u{fffd}\">1 &lt; 2")), "{text}");
        let text = xml("main", Ok(&Explored::default()));
        assert!(text.contains("failures=\"0\">\n<testcase classname=\"exploration\" name=\"main\"><system-out>0 runs"));
    }
}
