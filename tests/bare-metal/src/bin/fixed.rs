//! Follows a tape without an allocator: projected objects, two indexes, a work queue and its reconcile.
//!
//! It prints each change, the cache with its indexes, and the bytes of each part. The verdict is that of its own checks;
//! the host compares what it printed.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    use listwatch_bare_metal::fixed::{self, Cache, Deltas, Display, Fields, Indexes, ROOM};
    use listwatch_bare_metal::follow::Follower;
    use listwatch_bare_metal::large::LARGE;
    use listwatch_bare_metal::line::{Line, Object};
    use listwatch_bare_metal::machine::{entry, run, tape};
    use listwatch_bare_metal::output::Output;
    use listwatch_bare_metal::panel::{Count, count};
    use listwatch_bare_metal::tape::Source;
    use listwatch_bare_metal::told::{print_cache, print_index};
    use listwatch_core::projection::{Body, Part};
    use static_cell::{ConstStaticCell, StaticCell};

    static FIELDS: ConstStaticCell<Fields> = ConstStaticCell::new(Fields::new());
    static ROOM_FOR_BYTES: ConstStaticCell<[u8; ROOM]> = ConstStaticCell::new([0; ROOM]);
    static DELTAS: StaticCell<Deltas> = StaticCell::new();
    static CACHE: StaticCell<Cache> = StaticCell::new();
    static DISPLAY: StaticCell<Display> = StaticCell::new();

    // What is not inlined has frames of its own. In one, the stack would be twice as deep.
    #[entry]
    fn main() -> ! {
        run(|| {
            let (fields, room) = (FIELDS.take(), ROOM_FOR_BYTES.take());
            follow(fields, room)?;
            pass_large(fields, room)
        })
    }

    #[inline(never)]
    fn follow(fields: &mut Fields, room: &mut [u8; ROOM]) -> Result<(), &'static str> {
        let cache = CACHE.init_with(Cache::new);
        let indexes = fixed::index(cache)?;
        let display = DISPLAY.init_with(Display::new);
        let mut follower = Follower::new(tape(), fields, DELTAS.init_with(fixed::deltas), cache, room);
        while follower.pump()? {
            while let Some(told) = follower.poll()? {
                told.print();
                display.add(&told)?;
            }
            display.work(|app| shown(follower.cache(), indexes, app))?;
        }
        while display.is_waiting() {
            display.work(|app| shown(follower.cache(), indexes, app))?;
        }
        print(follower.cache(), indexes);
        sizes(display);
        display.check(follower.cache().len(), |app| shown(follower.cache(), indexes, app))
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
        Output::line("size projector").number(size_of::<Fields>());
        Output::line("size buffer").number(ROOM);
        Output::line("size deltas").number(size_of::<Deltas>());
        Output::line("size cache").number(size_of::<Cache>());
        Output::line("size display").number(size_of::<Display>());
        Output::line("size object").number(size_of::<Object>());
        Output::line("writes").number(display.writes() as usize);
    }

    /// An object that is larger than all memory passes through the same buffer.
    #[inline(never)]
    fn pass_large(fields: &mut Fields, room: &mut [u8; ROOM]) -> Result<(), &'static str> {
        let mut source = LARGE;
        if source.len() < 1_500_000 {
            return Err("the large object is small");
        }
        let mut passed = None;
        fields.start(Body::Watch);
        loop {
            let len = source.read(room);
            if len == 0 {
                break;
            }
            let mut bytes = &room[..len];
            while let Some(part) = fields.next_part(&mut bytes) {
                passed = Some(part);
            }
        }
        let Some(Part::Event(_, object)) = passed else { return Err("the large object did not pass") };
        let Line { app, node, ready, restarts, .. } = &object.value;
        let is_whole = (object.key(), object.uid(), object.resource_version()) == ("team/large", "u", "7");
        let is_it = (app.as_str(), node.as_str(), ready.as_str(), *restarts) == ("svc", "n", "True", 3);
        if is_whole && is_it { Ok(()) } else { Err("the large object came out wrong") }
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
