use super::*;
use crate::decode::{DecodeOptions, Decoder, ListMeta, MetadataOnly, Raw};
use crate::object::{ObjectHandle, Version};
use crate::request::Resource;
use crate::time::{Instant, WallTime};
use core::time::Duration;
use serde_json::Value;
use std::format;
use std::string::ToString;
use std::vec::Vec;

const LIMIT: usize = 16 << 20;
const OPTIONS: fn() -> DecodeOptions = DecodeOptions::default;

fn pods() -> Resource {
    Resource::named("v1/pods").unwrap()
}

fn origin() -> Origin {
    let origin = Origin::new::<Raw>(&pods(), OPTIONS(), "").unwrap();
    origin.server("https://10.0.0.1:6443").authority("ab:cd").cluster("u-7")
}

fn pod(number: usize, padding: usize) -> ObjectHandle<Raw> {
    let padding = "x".repeat(padding);
    let text = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"p-{number}","uid":"u-{number}","resourceVersion":"{}"}},"spec":{{"ö":"{padding}"}}}}"#,
        number + 1
    );
    Decoder::default().item::<Raw>(text.as_bytes(), &ListMeta::default()).unwrap().into()
}

fn saved(objects: &[ObjectHandle<Raw>]) -> InMemory {
    let mut flash = InMemory::default();
    Writing::new(&origin(), "99", WallTime::UNIX_EPOCH, objects.to_vec()).write_to(&mut flash).unwrap();
    flash
}

fn read(flash: &mut InMemory, origin: &Origin) -> Result<Option<Saved<Raw>>, SavedError> {
    Saved::read(flash, origin, OPTIONS(), LIMIT)
}

/// Reads at most so many bytes at once.
struct Pieces(InMemory, usize);

impl Flash for Pieces {
    type Error = core::convert::Infallible;

    fn open(&mut self) -> Result<bool, Self::Error> {
        self.0.open()
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }

    fn create(&mut self) -> Result<(), Self::Error> {
        self.0.create()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.write(bytes)
    }

    fn commit(&mut self) -> Result<(), Self::Error> {
        self.0.commit()
    }
}

#[test]
fn what_was_saved_comes_back_whatever_pieces_it_is_written_and_read_in() {
    for (count, padding) in [(0, 0), (1, 0), (3, 200_000), (700, 300)] {
        let objects: Vec<_> = (0..count).map(|number| pod(number, padding)).collect();
        let flash = saved(&objects);
        let is_small = flash.bytes().len() < 2000;
        for most in [1, 7, usize::MAX].into_iter().filter(|most| *most > 7 || is_small) {
            let mut pieces = Pieces(flash.clone(), most);
            let saved = Saved::<Raw>::read(&mut pieces, &origin(), OPTIONS(), LIMIT).unwrap().unwrap();
            assert_eq!(
                (saved.objects, saved.version.as_str(), saved.date),
                (objects.clone(), "99", WallTime::UNIX_EPOCH)
            );
            assert_eq!(saved.cluster.as_deref(), Some("u-7"));
        }
    }
}

#[test]
fn a_state_that_lacks_an_undecodable_object_is_read_as_partial() {
    for is_partial in [false, true] {
        let mut flash = InMemory::default();
        let writing = Writing::new(&origin(), "99", WallTime::UNIX_EPOCH, Vec::from([pod(0, 0)])).partial(is_partial);
        writing.write_to(&mut flash).unwrap();
        assert_eq!(read(&mut flash, &origin()).unwrap().unwrap().is_partial, is_partial);
    }
}

#[test]
fn a_piece_has_64_kib_or_one_object_more() {
    let objects: Vec<_> = (0..700).map(|number| pod(number, 300)).collect();
    let (mut writing, mut out, mut pieces) = (Writing::new(&origin(), "99", WallTime::MIN, objects), Vec::new(), 0);
    while writing.next_piece(&mut out).unwrap() {
        assert!(out.len() < (64 << 10) + 1000, "{}", out.len());
        pieces += 1;
        out.clear();
    }
    assert!(pieces > 3, "{pieces}");
}

#[test]
fn what_is_saved_is_a_list_of_its_kind_for_every_other_tool() {
    struct Deployment;
    impl crate::object::Kind for Deployment {
        const API_VERSION: &'static str = "apps/v1";
        const KIND: &'static str = "Deployment";
        const PLURAL: &'static str = "deployments";
    }
    let deployments = Resource::of::<Deployment>();
    let origin = Origin::new::<Raw>(&deployments, OPTIONS(), "").unwrap();
    let mut flash = InMemory::default();
    Writing::new(&origin, "7", WallTime::UNIX_EPOCH, std::vec![pod(0, 0)]).write_to(&mut flash).unwrap();
    let list: Value = serde_json::from_slice(flash.bytes()).unwrap();
    assert_eq!((list["kind"].as_str(), list["apiVersion"].as_str()), (Some("DeploymentList"), Some("apps/v1")));
    assert_eq!(list["metadata"]["resourceVersion"], "7");
    assert_eq!(list["items"][0]["metadata"]["name"], "p-0");
    assert_eq!(list["metadata"]["annotations"]["listwatch.saved/date"], "1970-01-01T00:00:00Z");
}

#[test]
fn nothing_saved_is_no_error() {
    assert!(read(&mut InMemory::default(), &origin()).unwrap().is_none());
}

#[test]
fn whatever_bit_flips_is_an_error() {
    let flash = saved(&[pod(0, 0), pod(1, 0)]);
    for place in 0..flash.bytes().len() {
        for bit in 0..8 {
            let mut flipped = flash.bytes().to_vec();
            flipped[place] ^= 1 << bit;
            let error = read(&mut flipped.into(), &origin()).expect_err("a flipped bit");
            assert!(matches!(error, SavedError::Cut | SavedError::Damaged), "byte {place}, bit {bit}: {error}");
        }
    }
}

#[test]
fn wherever_it_is_cut_is_an_error() {
    let whole = saved(&[pod(0, 0), pod(1, 0)]).bytes().to_vec();
    for len in 1..whole.len() {
        assert_eq!(read(&mut whole[..len].to_vec().into(), &origin()).unwrap_err(), SavedError::Cut, "{len} bytes");
    }
    let longer = [&whole[..], b"{}"].concat();
    assert_eq!(read(&mut longer.into(), &origin()).unwrap_err(), SavedError::Cut);
}

#[test]
fn a_state_of_something_else_is_named() {
    let told = |other: Origin| read(&mut saved(&[pod(0, 0)]), &other).unwrap_err().to_string();
    assert_eq!(
        told(origin().server("https://10.0.0.2")),
        "it is of another server: https://10.0.0.1:6443, and this is https://10.0.0.2"
    );
    assert_eq!(told(origin().authority("")), "it is of another certificate authority: ab:cd, and this is none");
    assert_eq!(told(origin().cluster("u-8")), "it is of another cluster: u-7, and this is u-8");
    let of = |resource: &Resource, options| {
        let origin = Origin::new::<Raw>(resource, options, "").unwrap();
        origin.server("https://10.0.0.1:6443").authority("ab:cd").cluster("u-7")
    };
    let selected = told(of(&pods().with_label_selector("app=web"), OPTIONS()));
    assert!(selected.ends_with("/api/v1/pods, and this is /api/v1/pods?labelSelector=app%3Dweb"), "{selected}");
    let metadata = told(of(&pods().metadata_only(), OPTIONS()));
    assert!(metadata.ends_with("this is /api/v1/pods (metadata)"), "{metadata}");
    let annotations = told(of(&pods(), DecodeOptions { annotations: true, ..OPTIONS() }));
    assert!(annotations.ends_with("whole objects, and this is whole objects, annotations"), "{annotations}");
    // What a lenient decoder took was restored for a strict one, and what a strict one lacked for a lenient one.
    let strict = told(of(&pods(), DecodeOptions { strict: true, ..OPTIONS() }));
    assert!(strict.ends_with("whole objects, and this is whole objects, strict"), "{strict}");
}

#[test]
fn another_build_of_a_program_does_not_read_the_fields_of_its_types() {
    let build = |build| Origin::new::<Value>(&pods(), OPTIONS(), build).unwrap().server("https://10.0.0.1");
    let value = Decoder::default().item::<Value>(pod(0, 0).as_str().as_bytes(), &ListMeta::default()).unwrap();
    let mut flash = InMemory::default();
    Writing::new(&build("1"), "7", WallTime::MIN, std::vec![value.into()]).write_to(&mut flash).unwrap();
    let read = |flash: &mut InMemory, build| Saved::<Value>::read(flash, &build, OPTIONS(), LIMIT);
    assert_eq!(read(&mut flash, build("1")).unwrap().unwrap().objects.len(), 1);
    let error = read(&mut flash, build("2")).unwrap_err();
    assert!(matches!(error, SavedError::Other { what: "type of objects", .. }), "{error}");
    // The text of an object, or its metadata, is the same for every build.
    assert_eq!(Origin::new::<Raw>(&pods(), OPTIONS(), "1"), Origin::new::<Raw>(&pods(), OPTIONS(), "2"),);
    assert_ne!(Origin::new::<Raw>(&pods(), OPTIONS(), "1"), Origin::new::<MetadataOnly>(&pods(), OPTIONS(), "1"),);
}

#[test]
fn a_cluster_that_could_not_be_read_is_not_compared() {
    let unnamed = Origin { cluster: None, ..origin() };
    assert!(read(&mut saved(&[pod(0, 0)]), &unnamed).unwrap().is_some());
}

#[test]
fn a_state_of_no_named_server_is_not_restored() {
    let unnamed = || Origin::new::<Raw>(&pods(), OPTIONS(), "").unwrap();
    let restored = |origin: &Origin| {
        let mut flash = InMemory::default();
        Writing::new(origin, "7", WallTime::UNIX_EPOCH, Vec::from([pod(0, 0)])).write_to(&mut flash).unwrap();
        read(&mut flash, origin).map(|saved| saved.is_some())
    };
    assert_eq!(restored(&unnamed()), Err(SavedError::Unnamed));
    assert_eq!(restored(&unnamed().authority("ab:cd")), Err(SavedError::Unnamed), "one may sign for many");
    assert_eq!(restored(&unnamed().cluster("u-7")), Ok(true));
    assert_eq!(restored(&unnamed().server("https://10.0.0.1")), Ok(true));
}

#[test]
fn secrets_are_saved_on_request_alone() {
    let secrets = Resource::named("v1/secrets").unwrap();
    let error = Origin::new::<Raw>(&secrets, OPTIONS(), "").unwrap_err();
    assert!(error.to_string().starts_with("/api/v1/secrets may contain secrets"), "{error}");
    assert_eq!(Origin::including_secrets::<Raw>(&secrets, OPTIONS(), "").collection, "/api/v1/secrets");
}

#[test]
fn a_state_over_the_limit_is_refused_before_it_is_decoded() {
    let mut flash = saved(&[pod(0, 5000)]);
    let error = Saved::<Raw>::read(&mut flash, &origin(), OPTIONS(), 5000).unwrap_err();
    assert_eq!(error, SavedError::TooLarge(5000));
}

#[test]
fn other_files_with_a_right_checksum_are_no_saved_state() {
    for text in ["", "{}", "[\n", "{\"items\":[\n", "{\"kind\":\"List\"},\"items\":[\n"] {
        let mut checksum = format::Checksum::new();
        checksum.update(text.as_bytes());
        let mut file = text.as_bytes().to_vec();
        checksum.write(&mut file);
        let error = read(&mut file.into(), &origin()).unwrap_err();
        assert!(matches!(error, SavedError::Unknown(_)), "{text}: {error}");
    }
}

#[test]
fn a_save_that_failed_is_tried_again_after_the_usual_time() {
    let (second, version): (_, Option<Version>) = (Duration::from_secs(1), Some("7".into()));
    let mut saver = Saver::new(30 * second);
    let now = Instant::ZERO + second;
    assert!(saver.poll_save(now, version.as_ref()));
    assert!(!saver.poll_save(now + 60 * second, version.as_ref()), "one at a time");
    saver.handle_saved(false);
    assert!(!saver.poll_save(now + 29 * second, version.as_ref()));
    assert_eq!(saver.poll_timeout(), Some(now + 30 * second));
    assert!(saver.poll_save(now + 30 * second, version.as_ref()));
    saver.handle_saved(true);
    assert!(!saver.is_unsaved("7") && saver.is_unsaved("8"));
}

#[test]
fn what_was_restored_is_not_saved_again_and_a_cache_without_a_version_never() {
    let mut saver = Saver::new(Duration::ZERO);
    saver.handle_restored(Instant::ZERO, "7");
    let version = |version: &str| Some(Version::from(version));
    assert!(!saver.poll_save(Instant::ZERO, version("7").as_ref()));
    assert!(!saver.poll_save(Instant::ZERO, None));
    assert!(saver.poll_save(Instant::ZERO, version("8").as_ref()));
}

#[test]
fn a_crash_loop_does_not_write_at_each_start() {
    let second = Duration::from_secs(1);
    let (mut saver, version) = (Saver::new(60 * second), Some(Version::from("8")));
    let now = Instant::ZERO + 5 * second;
    saver.handle_restored(now, "7");
    assert!(!saver.poll_save(now + second, version.as_ref()));
    assert_eq!(saver.poll_timeout(), Some(now + 60 * second));
    saver.handle_outdated();
    assert!(saver.poll_save(now + second, version.as_ref()), "nothing goes on from what is saved");
}
