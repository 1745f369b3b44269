//! Follows a tape without an allocator: projected objects, two indexes, a work queue and its reconcile.
//!
//! It prints each change, the cache with its indexes, and the bytes of each part. The verdict is that of its own checks;
//! the host compares what it printed.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    use core::cell::RefCell;
    use listwatch_bare_metal::fixed::{self, Cache, Decoder, Display, Driver, Indexes};
    use listwatch_bare_metal::line::Object;
    use listwatch_bare_metal::machine::{entry, run, tape};
    use listwatch_bare_metal::output::Output;
    use listwatch_bare_metal::panel::{Count, count};
    use listwatch_bare_metal::told::{print_cache, print_change, print_index};
    use listwatch_bare_metal::transport;
    use static_cell::{ConstStaticCell, StaticCell};

    static DECODER: StaticCell<Decoder> = StaticCell::new();
    static CACHE: ConstStaticCell<Cache> = ConstStaticCell::new(Cache::new());
    static DRIVER: StaticCell<Driver> = StaticCell::new();
    static DISPLAY: StaticCell<Display> = StaticCell::new();

    // What is not inlined has frames of its own. In one, the stack would be twice as deep.
    #[entry]
    fn main() -> ! {
        run(|| follow(driver()))
    }

    #[inline(never)]
    fn driver() -> &'static mut Driver {
        DRIVER.init_with(|| fixed::driver(tape(), DECODER.init_with(Decoder::new), CACHE.take()))
    }

    #[inline(never)]
    fn follow(driver: &mut Driver) -> Result<(), &'static str> {
        let indexes = fixed::index(driver)?;
        let display = RefCell::new(DISPLAY.init_with(Display::new));
        transport::follow(
            driver,
            |told| {
                print_change(told);
                display.borrow_mut().add(told)
            },
            |cache| work(&mut display.borrow_mut(), cache, indexes),
        )?;
        let (cache, display) = (driver.informer().cache(), display.into_inner());
        while display.is_waiting() {
            work(display, cache, indexes)?;
        }
        print(cache, indexes);
        sizes(display);
        display.check(cache.len(), |app| shown(cache, indexes, app))
    }

    #[inline(never)]
    fn work(display: &mut Display, cache: &Cache, indexes: Indexes) -> Result<(), &'static str> {
        display.work(|app| shown(cache, indexes, app))
    }

    fn shown(cache: &Cache, indexes: Indexes, app: &str) -> Count {
        count(cache.by_index(indexes.app, app))
    }

    #[inline(never)]
    fn print(cache: &Cache, indexes: Indexes) {
        print_cache(cache.iter());
        print_index("app", cache, indexes.app);
        print_index("node", cache, indexes.node);
    }

    #[inline(never)]
    fn sizes(display: &Display) {
        Output::line("size decoder").number(size_of::<Decoder>());
        Output::line("size driver").number(size_of::<Driver>());
        Output::line("size cache").number(size_of::<Cache>());
        Output::line("size display").number(size_of::<Display>());
        Output::line("size object").number(size_of::<Object>());
        Output::line("writes").number(display.writes() as usize);
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
