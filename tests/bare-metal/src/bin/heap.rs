//! Follows a tape with an allocator: the informer of a serde type, two indexes, a work queue and its reconcile.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    use core::cell::RefCell;
    use listwatch_bare_metal::heap;
    use listwatch_bare_metal::line::{Shown, some};
    use listwatch_bare_metal::machine::{entry, run, tape};
    use listwatch_bare_metal::output::Output;
    use listwatch_bare_metal::panel::{Panel, count};
    use listwatch_bare_metal::pod::Pod;
    use listwatch_bare_metal::told::{print_cache, print_change, print_index};
    use listwatch_bare_metal::transport::{Player, driver, follow};
    use listwatch_core::Indexer;
    use listwatch_core::decode::{DecodeOptions, Json};
    use listwatch_core::object::ObjectHandle;
    use listwatch_core::storage::Heap;

    #[entry]
    fn main() -> ! {
        run(|| {
            heap::init();
            let followed = pods();
            heap::print();
            followed
        })
    }

    fn pods() -> Result<(), &'static str> {
        let display = RefCell::new(Panel::<Heap>::new());
        let mut cache = Indexer::<ObjectHandle<Pod>>::new();
        let app = cache.add_index(|pod, emit| emit(pod.app()));
        let node = cache.add_index(|pod, emit| some(pod.node()).into_iter().for_each(emit));
        let mut driver =
            driver::<_, _, _, Heap>(Player::new(tape()), Json::<Pod>::new(DecodeOptions::default()), cache);
        follow(
            &mut driver,
            |told| {
                print_change(told);
                display.borrow_mut().add(told)
            },
            |cache| display.borrow_mut().work(|name| count(cache.by_index(app, name))),
        )?;
        let (cache, mut display) = (driver.informer().cache(), display.into_inner());
        while display.is_waiting() {
            display.work(|name| count(cache.by_index(app, name)))?;
        }
        print_cache(cache.iter());
        print_index("app", cache, app);
        print_index("node", cache, node);
        Output::line("writes").number(display.writes() as usize);
        display.check(cache.len(), |name| count(cache.by_index(app, name)))
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
