//! Our side of the section `peaks` of [`beside`](../beside/main.rs): it counts the bytes that it allocates.
#![expect(clippy::unwrap_used, reason = "a step that fails ends the run")]

#[path = "beside/follow.rs"]
mod follow;
#[path = "beside/process.rs"]
#[expect(dead_code, reason = "the program that measures has the rest of it")]
mod process;

use follow::{Counter, command};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

fn main() {
    // cargo says `--bench` to every benchmark.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["follow", ref follow @ ..] => command(follow, Some(&ALLOCATED)),
        _ => println!("tests/benches/peers runs this"),
    }
}

impl Counter for PeakAlloc {
    fn live(&self) -> usize {
        self.current_usage()
    }

    fn peak(&self) -> usize {
        self.peak_usage()
    }

    fn restart(&self) {
        self.reset_peak_usage();
    }
}
