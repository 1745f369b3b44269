//! Lines of text for the host. `core::fmt` would take more flash than the work queue.

/// The bytes of a line that are printed at once.
const PIECE: usize = 128;

/// A line that is put together from words, and printed when it is dropped.
pub struct Output {
    bytes: [u8; PIECE],
    len: usize,
}

impl Output {
    /// A line that begins with this word.
    #[must_use]
    pub fn line(word: &str) -> Self {
        let mut output = Self { bytes: [0; PIECE], len: 0 };
        output.push(word);
        output
    }

    /// Appends a space and a word; `-` for an empty one.
    pub fn word(&mut self, word: &str) -> &mut Self {
        self.push(" ");
        self.push(if word.is_empty() { "-" } else { word });
        self
    }

    /// Appends a space and a number.
    pub fn number(&mut self, number: usize) -> &mut Self {
        let (mut digits, mut rest, mut at) = ([0; 20], number, 20);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.word(core::str::from_utf8(&digits[at..]).unwrap_or_default())
    }

    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.len == PIECE {
                self.print();
            }
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }

    fn print(&mut self) {
        print(&self.bytes[..self.len]);
        self.len = 0;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.push("\n");
        self.print();
    }
}

#[cfg(target_os = "none")]
fn print(bytes: &[u8]) {
    use semihosting::io::{Write, stdout};

    let printed = stdout().and_then(|mut stdout| stdout.write_all(bytes));
    if printed.is_err() {
        semihosting::process::abort();
    }
}

#[cfg(not(target_os = "none"))]
fn print(bytes: &[u8]) {
    use std::io::Write;

    std::io::stdout().write_all(bytes).expect("standard output can be written");
}
