//! The emulated machine: its entry, its stack, its end.

use crate::output::Output;
use crate::tape::Tape;
#[cfg(target_arch = "arm")]
pub use cortex_m_rt::entry;
#[cfg(target_arch = "riscv32")]
pub use riscv_rt::entry;
use semihosting::process::ExitCode;

// It brings the critical sections of the machine.
#[cfg(target_arch = "arm")]
use cortex_m as _;
#[cfg(target_arch = "riscv32")]
use riscv as _;

/// Where the emulator puts a tape, which would be in a flash memory of its own: four bytes of length, and the answers.
#[cfg(target_arch = "arm")]
const TAPE: usize = 0x2100_0000;
#[cfg(target_arch = "riscv32")]
const TAPE: usize = 0x8100_0000;

#[cfg(target_arch = "arm")]
unsafe extern "C" {
    /// The handler of every interrupt that has none.
    fn DefaultHandler();
}

/// The handlers of the chip's interrupts, of which it has 32. Without a table, 240 would have places in flash.
#[cfg(target_arch = "arm")]
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [unsafe extern "C" fn(); 32] = [DefaultHandler; 32];

/// What the stack is painted with.
const PAINT: u32 = 0xcccc_cccc;

/// The bytes above which the stack is in use while it is painted.
const FRAME: usize = 128;

unsafe extern "C" {
    /// The lowest place of the stack.
    static mut _stack_end: u32;
    /// The place above its highest one.
    static mut _stack_start: u32;
}

/// The tape that the emulator was given.
#[must_use]
pub fn tape() -> Tape {
    let at = TAPE as *const u8;
    // SAFETY: the emulator has memory there, whether it has put a tape into it or not, and nobody writes to it.
    let bytes = unsafe {
        let len = at.cast::<u32>().read();
        core::slice::from_raw_parts(at.add(4), len as usize)
    };
    Tape::new(bytes)
}

/// Runs an image, and ends the emulator with the verdict.
pub fn run(image: impl FnOnce() -> Result<(), &'static str>) -> ! {
    start();
    end(image())
}

/// Paints the stack below the caller's frame. An image begins with it.
#[inline(never)]
pub fn start() {
    let here = 0_u32;
    let end = (&raw const here as usize).saturating_sub(FRAME);
    let mut at = &raw mut _stack_end;
    while (at as usize) < end {
        // SAFETY: the stack has nothing below this frame and what it calls.
        unsafe {
            at.write_volatile(PAINT);
            at = at.add(1);
        }
    }
}

/// Prints how much of the stack was used, and ends the emulator with the verdict.
pub fn end(verdict: Result<(), &'static str>) -> ! {
    Output::line("stack").number(used());
    match verdict {
        Ok(()) => ExitCode::SUCCESS.exit_process(),
        Err(why) => fail(why),
    }
}

/// The bytes of the stack that are painted no more.
fn used() -> usize {
    let (mut at, end) = (&raw const _stack_end, &raw const _stack_start);
    while at < end {
        // SAFETY: it is a place of the stack.
        if unsafe { at.read_volatile() } != PAINT {
            break;
        }
        at = at.wrapping_add(1);
    }
    end as usize - at as usize
}

fn fail(why: &str) -> ! {
    Output::line("failed:").word(why);
    ExitCode::FAILURE.exit_process()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    fail("a panic")
}

#[cfg(target_arch = "arm")]
#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    fail("a hard fault")
}
