//! A heap that knows how much of it was in use at most.

use crate::output::Output;
use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering};
use embedded_alloc::LlffHeap;

/// The bytes of the heap.
const BYTES: usize = 120 * 1024;

#[global_allocator]
static HEAP: Counted = Counted { heap: LlffHeap::empty(), most: AtomicUsize::new(0) };

struct Counted {
    heap: LlffHeap,
    most: AtomicUsize,
}

// SAFETY: the heap does all of it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let place = unsafe { self.heap.alloc(layout) };
        self.most.fetch_max(self.heap.used(), Ordering::Relaxed);
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { self.heap.dealloc(place, layout) }
    }
}

/// Gives the heap its memory. An image calls this once, before all else.
pub fn init() {
    static mut MEMORY: [u64; BYTES / 8] = [0; BYTES / 8];
    // SAFETY: nobody else names this memory, and it is given once.
    unsafe { HEAP.heap.init(&raw mut MEMORY as usize, BYTES) }
}

/// Prints the bytes that were in use at most, and those of the whole heap.
pub fn print() {
    Output::line("heap").number(HEAP.most.load(Ordering::Relaxed));
    Output::line("arena").number(BYTES);
}
